//! Compares types and constants with those that `ibverbs-sys` finds in the header of rdma-core: a difference does not compile.

use crate::fabric::verbs::abi::types;
use std::mem::{align_of, offset_of, size_of};

/// Compares a type, and where each of its fields is.
macro_rules! same_layout {
    // Later releases have one more field at the end, which the library's `ibv_query_port` does not write.
    (ibv_port_attr, $size:expr, $($field:ident $offset:expr),*) => {
        const _: () = assert!(size_of::<types::ibv_port_attr>() <= size_of::<ibverbs_sys::ibv_port_attr>());
        same_layout!(@ ibv_port_attr, $($field),*);
    };
    // `ibverbs-sys` writes it by hand, too, with private fields: see the test below.
    (ibv_wc, $size:expr, $($field:ident $offset:expr),*) => {
        const _: () = assert!(size_of::<types::ibv_wc>() == size_of::<ibverbs_sys::ibv_wc>());
        same_layout!(@ ibv_wc, qp_num, src_qp, wc_flags, pkey_index, slid, sl, dlid_path_bits);
    };
    ($type:ident, $size:expr, $($field:ident $offset:expr),*) => {
        const _: () = assert!(size_of::<types::$type>() == size_of::<ibverbs_sys::$type>());
        same_layout!(@ $type, $($field),*);
    };
    (@ $type:ident, $($field:ident),*) => {
        const _: () = assert!(align_of::<types::$type>() == align_of::<ibverbs_sys::$type>());
        $(const _: () = assert!(offset_of!(types::$type, $field) == offset_of!(ibverbs_sys::$type, $field));)*
    };
}

types::layouts!(same_layout);

const _: () = {
    let immediate = offset_of!(types::ibv_wc, __bindgen_anon_1);
    assert!(immediate == offset_of!(ibverbs_sys::ibv_wc, imm_data));
};

/// Compares constants.
macro_rules! values {
    ($($name:ident),*) => {
        $(const _: () = assert!(types::$name as u64 == ibverbs_sys::$name as u64);)*
    };
}

/// Compares constants of an enumeration.
macro_rules! values_of {
    ($type:ident: $($name:ident),*) => {
        $(const _: () = assert!(types::$name as u64 == ibverbs_sys::$type::$name as u64);)*
    };
}

/// Compares bits that are added to each other.
macro_rules! bits_of {
    ($type:ident: $($name:ident),*) => {
        $(const _: () = assert!(types::$name as u64 == ibverbs_sys::$type::$name.0 as u64);)*
    };
}

values!(
    IBV_TRANSPORT_IB,
    IBV_MTU_256,
    IBV_MTU_512,
    IBV_MTU_1024,
    IBV_MTU_2048,
    IBV_MTU_4096,
    IBV_LINK_LAYER_UNSPECIFIED,
    IBV_LINK_LAYER_INFINIBAND,
    IBV_LINK_LAYER_ETHERNET,
    IBV_GID_TYPE_IB,
    IBV_GID_TYPE_ROCE_V1,
    IBV_GID_TYPE_ROCE_V2,
    IBV_EVENT_CQ_ERR,
    IBV_EVENT_QP_FATAL,
    IBV_EVENT_QP_REQ_ERR,
    IBV_EVENT_QP_ACCESS_ERR,
    IBV_EVENT_COMM_EST,
    IBV_EVENT_SQ_DRAINED,
    IBV_EVENT_PATH_MIG,
    IBV_EVENT_PATH_MIG_ERR,
    IBV_EVENT_DEVICE_FATAL,
    IBV_EVENT_PORT_ACTIVE,
    IBV_EVENT_PORT_ERR,
    IBV_EVENT_LID_CHANGE,
    IBV_EVENT_PKEY_CHANGE,
    IBV_EVENT_SM_CHANGE,
    IBV_EVENT_SRQ_ERR,
    IBV_EVENT_SRQ_LIMIT_REACHED,
    IBV_EVENT_QP_LAST_WQE_REACHED,
    IBV_EVENT_CLIENT_REREGISTER,
    IBV_EVENT_GID_CHANGE,
    IBV_EVENT_WQ_FATAL
);
values_of!(
    ibv_port_state: IBV_PORT_NOP, IBV_PORT_DOWN, IBV_PORT_INIT, IBV_PORT_ARMED, IBV_PORT_ACTIVE,
    IBV_PORT_ACTIVE_DEFER
);
bits_of!(ibv_access_flags: IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ);
values_of!(ibv_qp_type: IBV_QPT_RC);
values_of!(ibv_qp_state: IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR);
bits_of!(
    ibv_qp_attr_mask: IBV_QP_STATE, IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_AV,
    IBV_QP_PATH_MTU, IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN,
    IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_DEST_QPN
);
values_of!(ibv_wr_opcode: IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ);
bits_of!(ibv_send_flags: IBV_SEND_FENCE, IBV_SEND_SIGNALED, IBV_SEND_SOLICITED, IBV_SEND_INLINE);
values_of!(
    ibv_wc_status: IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_EEC_OP_ERR,
    IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,
    IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_RDD_VIOL_ERR, IBV_WC_REM_INV_RD_REQ_ERR,
    IBV_WC_REM_ABORT_ERR, IBV_WC_INV_EECN_ERR, IBV_WC_INV_EEC_STATE_ERR, IBV_WC_FATAL_ERR,
    IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_GENERAL_ERR, IBV_WC_TM_ERR, IBV_WC_TM_RNDV_INCOMPLETE
);
values_of!(ibv_wc_opcode: IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_RECV_RDMA_WITH_IMM);
bits_of!(ibv_wc_flags: IBV_WC_WITH_IMM);

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::transmute;

    #[test]
    fn all_constants_are_compared() {
        let (constants, compared) = (include_str!("constants.rs"), include_str!("header.rs"));
        let names = constants.split("pub const ").skip(1).map(|rest| rest.split(':').next().unwrap());
        let names: Vec<_> = names.collect();
        assert!(names.len() > 80);
        let words: Vec<_> = compared.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let missing: Vec<_> = names.iter().filter(|name| !words.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn completions_are_those_of_the_crate() {
        let ours = types::ibv_wc {
            wr_id: 1 << 40,
            status: types::IBV_WC_RETRY_EXC_ERR,
            vendor_err: 0x81,
            byte_len: 17,
            ..Default::default()
        };
        // SAFETY: of the same size (`same_layout`), and integers.
        let theirs = unsafe { transmute::<types::ibv_wc, ibverbs_sys::ibv_wc>(ours) };
        assert_eq!((theirs.wr_id(), theirs.len()), (1 << 40, 17));
        assert_eq!(theirs.error(), Some((types::IBV_WC_RETRY_EXC_ERR, 0x81)));
        let opcode = types::IBV_WC_RECV_RDMA_WITH_IMM;
        // SAFETY: as above.
        let theirs = unsafe {
            transmute::<types::ibv_wc, ibverbs_sys::ibv_wc>(types::ibv_wc { status: 0, opcode, ..ours })
        };
        assert_eq!(theirs.opcode(), opcode);
    }
}
