//! [`Tree`]: a binomial tree, over which members numbered from 0 do something together.
//!
//! The parent of a number is that number without its lowest bit. So each subtree is a range of numbers, and there are
//! at most as many levels as the member count has bits. Both ends of an edge differ in one bit.
//!
//! A reduction goes up the tree, and its result down ([`steps`](Tree::steps)); over the edge at the top both halves are
//! exchanged, which saves a step. With `n` members, that is `2 (n - 1)` messages, at most `2 ceil(log2 n) - 1` of them
//! one after another, and no member sends or receives more than `ceil(log2 n)`.

/// The tree over this many members, as one of them sees it.
#[derive(Clone, Copy)]
pub(crate) struct Tree {
    pub(crate) number: u32,
    pub(crate) count: u32,
}

/// The steps of one member, one after another, until it has the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeStep {
    /// Takes what another member brings, and combines its own with it.
    Combine(u32),
    /// Brings another member what it has, and combines that with what the other brings.
    Exchange(u32),
    /// Brings another member what it has, and takes the result instead.
    Ask(u32),
    /// Brings another member the result.
    Tell(u32),
}

impl Tree {
    pub(crate) fn parent(self) -> Option<u32> {
        (self.number > 0).then(|| self.number & (self.number - 1))
    }

    /// In order: the smallest subtree first.
    pub(crate) fn children(self) -> impl DoubleEndedIterator<Item = u32> + Clone + use<> {
        let Self { number, count } = self;
        // The root's children end at the number of members.
        let levels =
            if number == 0 { u32::BITS - (count - 1).leading_zeros() } else { number.trailing_zeros() };
        (0..levels).map(move |level| number | 1 << level).filter(move |child| *child < count)
    }

    /// The parent and the children.
    pub(crate) fn neighbours(self) -> impl Iterator<Item = u32> + use<> {
        self.children().chain(self.parent())
    }

    /// The other end of the edge at the top, over which both halves are exchanged.
    fn opposite(self) -> Option<u32> {
        let top = 1 << (self.count - 1).checked_ilog2()?;
        match self.number {
            0 => Some(top),
            number if number == top => Some(0),
            _ => None,
        }
    }

    /// A reduction in the order of numbers, whose result all members get.
    pub(crate) fn steps(self) -> impl Iterator<Item = TreeStep> + use<> {
        let opposite = self.opposite();
        let below = self.children().filter(move |child| Some(*child) != opposite);
        let at_the_top = opposite.map(TreeStep::Exchange);
        let above = at_the_top.or(self.parent().map(TreeStep::Ask));
        // The furthest first: what is below it takes longest.
        below.clone().map(TreeStep::Combine).chain(above).chain(below.rev().map(TreeStep::Tell))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::{HashMap, VecDeque};

    /// What one member does, and has.
    struct Player {
        steps: VecDeque<TreeStep>,
        /// The numbers whose contributions it has, in this order.
        row: std::ops::Range<u32>,
        /// How many messages, one after another, have led to that.
        chain: u32,
        /// Whether it has done the first half of its next step.
        has_brought: bool,
        sent: u32,
        received: u32,
    }

    /// Plays all steps of a round, and counts messages. It checks on the way that a result is complete, and in order.
    fn play(count: u32) -> Vec<Player> {
        let player = |number| Player {
            steps: Tree { number, count }.steps().collect(),
            row: number..number + 1,
            chain: 0,
            has_brought: false,
            sent: 0,
            received: 0,
        };
        let mut players: Vec<Player> = (0..count).map(player).collect();
        let mut messages = HashMap::new();
        let mut ready: Vec<u32> = (0..count).collect();
        while let Some(number) = ready.pop() {
            let player = &mut players[number as usize];
            while let Some(&step) = player.steps.front() {
                let (TreeStep::Combine(other)
                | TreeStep::Exchange(other)
                | TreeStep::Ask(other)
                | TreeStep::Tell(other)) = step;
                if !matches!(step, TreeStep::Combine(_)) && !player.has_brought {
                    assert!(
                        messages.insert((number, other), (player.row.clone(), player.chain + 1)).is_none()
                    );
                    (player.has_brought, player.sent) = (true, player.sent + 1);
                    ready.push(other);
                }
                if !matches!(step, TreeStep::Tell(_)) {
                    let Some((row, chain)) = messages.remove(&(other, number)) else { break };
                    player.row = match step {
                        TreeStep::Ask(_) => row,
                        _ if row.start == player.row.end => player.row.start..row.end,
                        _ => {
                            assert_eq!(
                                row.end, player.row.start,
                                "{number} of {count}: neighbours only are combined"
                            );
                            row.start..player.row.end
                        }
                    };
                    (player.chain, player.received) = (player.chain.max(chain), player.received + 1);
                }
                player.has_brought = false;
                player.steps.pop_front();
            }
        }
        assert!(messages.is_empty());
        players
    }

    fn check(count: u32) {
        let players = play(count);
        let levels = count.next_power_of_two().ilog2();
        for (number, player) in players.iter().enumerate() {
            assert!(player.steps.is_empty(), "{number} of {count} comes to its end");
            assert_eq!(player.row, 0..count, "{number} of {count} has what all have brought");
            assert!(player.sent <= levels && player.received <= levels, "{number} of {count}");
            assert!(player.chain <= (2 * levels).saturating_sub(1), "{number} of {count}: {}", player.chain);
        }
        assert_eq!(players.iter().map(|player| player.sent).sum::<u32>(), 2 * (count - 1));
        assert_eq!((players[0].sent, players[0].received), (levels, levels), "of the root of {count}");
    }

    #[test]
    fn a_round_takes_as_many_messages_one_after_another_as_a_tree_is_high_twice() {
        (1..=300).for_each(check);
        for power in 9..=12 {
            (1_u32 << power).checked_sub(1).into_iter().for_each(check);
            check(1 << power);
            check((1 << power) + 1);
        }
    }

    #[test]
    fn parents_and_children_agree_up_to_4096() {
        for count in 1..=4096 {
            let mut found = 0;
            for number in 0..count {
                let tree = Tree { number, count };
                for child in tree.children() {
                    assert_eq!(Tree { number: child, count }.parent(), Some(number));
                    assert!(child > number && child < count && (child ^ number).is_power_of_two());
                    found += 1;
                }
                assert!(number.count_ones() <= count.next_power_of_two().ilog2());
            }
            assert_eq!(found, count - 1, "each but the root is a child of one");
        }
    }
}
