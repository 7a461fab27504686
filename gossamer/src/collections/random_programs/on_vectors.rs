//! Random programs on a `DistVec` and on a `Vec`: both end up the same, and say the same on the way. For tests of this
//! crate, and for those outside of it.

use fastrand::Rng;
use gossamer::Trustee;
use gossamer::collections::{DistMap, DistVec, Layout, par_emit};

/// Layouts of this many elements: both kinds, over all workers, and over some.
pub(crate) fn layouts(len: usize) -> Vec<Layout> {
    let all = Trustee::all();
    let twice: Vec<_> = all.iter().rev().chain(&all[..1]).copied().collect();
    vec![
        Layout::block(len),
        Layout::cyclic(len),
        Layout::block(len).on(&twice),
        Layout::cyclic(len).on(&twice),
        Layout::cyclic(len).on(&all[all.len() - 1..]),
    ]
}

/// A program of so many steps on a vector of this layout, which has `len` elements.
pub(crate) fn program(seed: u64, layout: Layout, len: usize, steps: usize) {
    println!("{steps} steps on {len} elements, seed {seed}");
    let mut random = Rng::with_seed(seed);
    let mut oracle: Vec<u64> = (0..len as u64).map(|index| index * 7 % 1000).collect();
    let vector = DistVec::from_fn(layout, const { |index: usize| index as u64 * 7 % 1000 });
    for _ in 0..steps {
        step(&mut random, &vector, &mut oracle);
    }
    assert_eq!(vector.to_vec(), oracle, "seed {seed}");
}

/// A range within this many elements, short more often than not.
fn range(random: &mut Rng, len: usize) -> std::ops::Range<usize> {
    let start = random.usize(0..=len);
    let most = if random.u8(..) < 240 { 20 } else { len };
    start..random.usize(start..=len.min(start.saturating_add(most)))
}

/// One random step, on both.
#[gossamer::delegate]
fn step(random: &mut Rng, vector: &DistVec<u64>, oracle: &mut [u64]) {
    let (len, number) = (oracle.len(), random.u64(..1000));
    let index = random.usize(0..len);
    match random.u8(..100) {
        0..20 => assert_eq!(vector.get(index), oracle[index]),
        20..35 => {
            vector.set(index, number);
            oracle[index] = number;
        }
        35..50 => {
            let before = vector.update(index, |element| std::mem::replace(element, *element * 3 + number));
            assert_eq!(before, oracle[index]);
            oracle[index] = oracle[index].wrapping_mul(3) + number;
            vector.update(index, |element| *element %= 1_000_000);
            oracle[index] %= 1_000_000;
        }
        50..60 => {
            assert_eq!(vector.replace(index, number), oracle[index]);
            oracle[index] = number;
        }
        60..70 => {
            let other = random.usize(0..len);
            vector.swap(index, other);
            oracle.swap(index, other);
        }
        70..76 => {
            let range = range(random, len);
            assert_eq!(vector.range(range.clone()), oracle[range]);
        }
        76..82 => {
            let range = range(random, len);
            let values: Vec<_> = range.clone().map(|_| random.u64(..1000)).collect();
            vector.set_range(range.start, values.clone());
            oracle[range].copy_from_slice(&values);
        }
        82..88 => {
            let indices: Vec<_> = range(random, 100).map(|_| random.usize(0..len)).collect();
            let expected: Vec<_> = indices.iter().map(|index| oracle[*index]).collect();
            let mut found = vec![7];
            vector.gather_into(indices.iter().copied(), &mut found);
            assert!(found[0] == 7 && found[1..] == expected);
            assert_eq!(vector.gather(indices), expected);
        }
        88..92 => {
            let pairs: Vec<_> =
                range(random, 100).map(|_| (random.usize(0..len), random.u64(..1000))).collect();
            vector.scatter(pairs.clone());
            pairs.into_iter().for_each(|(index, value)| oracle[index] = value);
        }
        92..94 => {
            let mut updates =
                vector.updates(|element, by: u64| *element = (*element * 3 + by) % (1_000_000 + number));
            for _ in 0..random.usize(0..300) {
                let (index, by) = (random.usize(0..len), random.u64(..1000));
                updates.push(index, by);
                oracle[index] = (oracle[index] * 3 + by) % (1_000_000 + number);
            }
            updates.finish();
        }
        94..96 => sent_once_or_together(random, vector, oracle),
        96..98 => {
            let pending = vector.update_async(index, |element| *element + number);
            assert_eq!(pending.wait(), oracle[index] + number);
        }
        98 => match number % 4 {
            0 => loops(vector, oracle, number),
            1 => folds(vector, oracle, number),
            2 => emissions(vector, oracle, number),
            _ => groups_and_pairs(vector, oracle, number),
        },
        _ => {
            let sums = vector.map_all(|elements| {
                elements.iter_mut().for_each(|element| *element = (*element + number) % 1_000_000);
                elements.indexed().map(|(index, element)| index as u64 ^ element).sum::<u64>()
            });
            oracle.iter_mut().for_each(|element| *element = (*element + number) % 1_000_000);
            let expected: u64 =
                oracle.iter().enumerate().map(|(index, element)| index as u64 ^ element).sum();
            assert_eq!(sums.into_iter().sum::<u64>(), expected);
        }
    }
}

/// Loops over all elements, which end with a sort.
#[gossamer::delegate]
fn loops(vector: &DistVec<u64>, oracle: &mut [u64], number: u64) {
    let mapped = vector.par_map(|index, element| (index as u64 ^ element) + number);
    let expected = oracle.iter().enumerate().map(|(index, element)| (index as u64 ^ element) + number);
    assert!(mapped.to_vec().into_iter().eq(expected));
    let kept = vector.par_filter(|_, element| element % 3 == number % 3);
    assert!(kept.to_vec().iter().eq(oracle.iter().filter(|element| **element % 3 == number % 3)));
    assert_eq!(vector.par_reduce(|one, other| one.max(other)), oracle.iter().copied().max());
    vector.par_for_each(|index, element| *element = (*element * 3 + index as u64 + number) % 1_000_000);
    let after =
        |(index, element): (usize, &mut u64)| *element = (*element * 3 + index as u64 + number) % 1_000_000;
    oracle.iter_mut().enumerate().for_each(after);
    vector.par_sort_unstable();
    oracle.sort_unstable();
}

/// Batches that combine, or have one argument for each element.
#[gossamer::delegate]
fn sent_once_or_together(random: &mut Rng, vector: &DistVec<u64>, oracle: &mut [u64]) {
    let len = oracle.len();
    let mut sums = vector.updates(|element, by: u64| *element += by);
    let mut firsts = vector.updates(|element, value: u64| *element = value);
    let (mut added, mut set) = (vec![0; len], vec![None; len]);
    for _ in 0..random.usize(0..300) {
        let (index, by) = (random.usize(0..len), random.u64(..1000));
        sums.combine(index, by, |one, other| one + other);
        added[index] += by;
        firsts.once(index, by);
        set[index].get_or_insert(by);
    }
    sums.finish();
    oracle.iter_mut().zip(added).for_each(|(element, by)| *element += by);
    assert_eq!(vector.to_vec(), oracle);
    firsts.finish();
    oracle.iter_mut().zip(set).for_each(|(element, value)| *element = value.unwrap_or(*element));
}

/// Loops that return something small.
#[gossamer::delegate]
fn folds(vector: &DistVec<u64>, oracle: &mut [u64], number: u64) {
    let folded = vector.par_fold(0, |sum, index, element| sum + (index as u64 ^ element) % (number + 1));
    let of = |(index, element): (usize, &u64)| (index as u64 ^ element) % (number + 1);
    let expected: u64 = oracle.iter().enumerate().map(of).sum();
    assert_eq!(folded.into_iter().sum::<u64>(), expected);
    // Each comes once, in the order of the workers.
    let mut listed = vector.par_map_reduce(
        |index, element| if element % 5 == number % 5 { vec![index as u32] } else { Vec::new() },
        |one, other| [one, other].concat(),
    );
    listed.iter_mut().for_each(|listed| listed.sort_unstable());
    let expected = oracle.iter().zip(0_u32..).filter(|(element, _)| *element % 5 == number % 5);
    assert!(listed.unwrap_or_default().into_iter().eq(expected.map(|(_, index)| index)));
    let scanned = vector.par_scan(|before, element| (before + element) % (1_000_000 + number)).to_vec();
    let mut sum = 0;
    let expected = oracle.iter().map(|element| {
        sum = (sum + element) % (1_000_000 + number);
        sum
    });
    assert!(scanned.into_iter().eq(expected));
    let largest: Vec<u64> = vector.par_largest(7).into_iter().map(|(_, element)| element).collect();
    let mut expected = oracle.to_vec();
    expected.sort_unstable_by(|one, other| other.cmp(one));
    expected.truncate(7);
    assert_eq!(largest, expected);
    vector.par_sort_by_key(|element| element % 10);
    oracle.sort_by_key(|element| element % 10);
}

/// Loops that emit for other collections, and from those back.
#[gossamer::delegate]
fn emissions(vector: &DistVec<u64>, oracle: &mut [u64], number: u64) {
    let (len, sums, counts) = (oracle.len(), DistVec::filled(vector.len(), 0), DistMap::new());
    let sent = vector
        .par_emit(|index, element, out| {
            let each = *element + number;
            out.extend((0..each as usize % 4).map(|step| ((index + step) * 7 % len, each)));
        })
        .apply_to(&sums, |sum, by: u64| *sum += by % (number + 7));
    let (mut expected, mut pairs) = (vec![0; len], 0);
    for (index, element) in oracle.iter().enumerate() {
        let each = *element + number;
        for step in 0..each as usize % 4 {
            expected[(index + step) * 7 % len] += each % (number + 7);
            pairs += 1;
        }
    }
    assert_eq!((sums.to_vec(), sent), (expected, pairs));

    vector
        .par_emit(|_, element, out| out.push(*element % (number + 1), 1_u64))
        .merge_into(&counts, |count, more| *count += more);
    let mut expected = std::collections::BTreeMap::new();
    oracle.iter().for_each(|element| *expected.entry(element % (number + 1)).or_insert(0) += 1);
    let counted: std::collections::BTreeMap<_, _> = counts.chunks().flatten().collect();
    assert_eq!(counted, expected);

    counts
        .par_emit(|key, count, out| out.push(*key as usize % len, *count))
        .apply_to(vector, |element, more| *element += more);
    expected.iter().for_each(|(key, count)| oracle[*key as usize % len] += count);
    par_emit(0..len, |index, out| out.push(len - 1 - index, index as u64 * number))
        .apply_to(vector, |element, more| *element = (*element + more) % 1_000_000);
    for (index, element) in oracle.iter_mut().rev().enumerate() {
        *element = (*element + index as u64 * number) % 1_000_000;
    }
}

/// Groups, equally laid-out pairs, and pieces.
#[gossamer::delegate]
fn groups_and_pairs(vector: &DistVec<u64>, oracle: &mut [u64], number: u64) {
    let mut groups = vector.par_group_by(|_, element| element % (number % 20 + 1)).to_vec();
    groups.sort_unstable_by_key(|(key, _)| *key);
    // In the order of the workers.
    groups.iter_mut().for_each(|(_, group)| group.sort_unstable());
    let mut expected = std::collections::BTreeMap::<u64, Vec<u64>>::new();
    oracle.iter().for_each(|element| expected.entry(element % (number % 20 + 1)).or_default().push(*element));
    expected.values_mut().for_each(|group| group.sort_unstable());
    assert!(groups.into_iter().eq(expected));
    let others = vector.par_map(|index, element| index as u64 + element);
    vector.par_zip(&others, |index, element, other| {
        std::mem::swap(element, other);
        *element = (*element + index as u64 + number) % 1_000_000;
    });
    assert_eq!(others.to_vec(), oracle);
    let after = |(index, element): (usize, &mut u64)| {
        *element = (*element + 2 * index as u64 + number) % 1_000_000;
    };
    oracle.iter_mut().enumerate().for_each(after);
    vector.par_chunks(number as usize % 9 + 1, |_, piece| piece.iter_mut().for_each(|element| *element /= 2));
    oracle.iter_mut().for_each(|element| *element /= 2);
}
