//! The numbers of libibverbs in words.

use crate::fabric::verbs::abi::types::*;

/// What a status of a completion means.
pub(crate) fn completion_status(status: u32) -> &'static str {
    match status {
        IBV_WC_SUCCESS => "success",
        IBV_WC_LOC_LEN_ERR => "local length error",
        IBV_WC_LOC_QP_OP_ERR => "local queue pair operation error",
        IBV_WC_LOC_EEC_OP_ERR => "local end-to-end context operation error",
        IBV_WC_LOC_PROT_ERR => "local protection error",
        IBV_WC_WR_FLUSH_ERR => "flushed, since the queue pair failed before",
        IBV_WC_MW_BIND_ERR => "memory window bind error",
        IBV_WC_BAD_RESP_ERR => "bad response",
        IBV_WC_LOC_ACCESS_ERR => "local access error",
        IBV_WC_REM_INV_REQ_ERR => "the remote side calls the request invalid",
        IBV_WC_REM_ACCESS_ERR => "remote access error",
        IBV_WC_REM_OP_ERR => "remote operation error",
        IBV_WC_RETRY_EXC_ERR => "retries exceeded: no answer from the remote side",
        IBV_WC_RNR_RETRY_EXC_ERR => "RNR retries exceeded: the remote side has no receive posted",
        IBV_WC_LOC_RDD_VIOL_ERR => "local reliable datagram domain violation",
        IBV_WC_REM_INV_RD_REQ_ERR => "the remote side calls the reliable datagram invalid",
        IBV_WC_REM_ABORT_ERR => "aborted by the remote side",
        IBV_WC_INV_EECN_ERR => "invalid end-to-end context number",
        IBV_WC_INV_EEC_STATE_ERR => "invalid state of the end-to-end context",
        IBV_WC_FATAL_ERR => "fatal error of the device",
        IBV_WC_RESP_TIMEOUT_ERR => "no response in time",
        IBV_WC_GENERAL_ERR => "general error",
        IBV_WC_TM_ERR => "tag matching error",
        IBV_WC_TM_RNDV_INCOMPLETE => "tag matching rendezvous incomplete",
        _ => "a status unknown to this version",
    }
}

/// What an asynchronous event means.
pub(crate) fn async_event(event: u32) -> &'static str {
    match event {
        IBV_EVENT_CQ_ERR => "completion queue error (it overran)",
        IBV_EVENT_QP_FATAL => "queue pair fatal error",
        IBV_EVENT_QP_REQ_ERR => "queue pair got an invalid request",
        IBV_EVENT_QP_ACCESS_ERR => "queue pair got a request that breaks its access rights",
        IBV_EVENT_COMM_EST => "communication established",
        IBV_EVENT_SQ_DRAINED => "send queue drained",
        IBV_EVENT_PATH_MIG => "path migrated",
        IBV_EVENT_PATH_MIG_ERR => "path migration failed",
        IBV_EVENT_DEVICE_FATAL => "device fatal error, or the device was removed",
        IBV_EVENT_PORT_ACTIVE => "port active",
        IBV_EVENT_PORT_ERR => "port down",
        IBV_EVENT_LID_CHANGE => "LID changed",
        IBV_EVENT_PKEY_CHANGE => "partition keys changed",
        IBV_EVENT_SM_CHANGE => "subnet manager changed",
        IBV_EVENT_SRQ_ERR => "shared receive queue error",
        IBV_EVENT_SRQ_LIMIT_REACHED => "shared receive queue limit reached",
        IBV_EVENT_QP_LAST_WQE_REACHED => "queue pair took the last receive",
        IBV_EVENT_CLIENT_REREGISTER => "the subnet manager asks to register anew",
        IBV_EVENT_GID_CHANGE => "GIDs changed",
        IBV_EVENT_WQ_FATAL => "work queue fatal error",
        _ => "an event unknown to this version",
    }
}

/// The state of a port.
pub(crate) fn port_state(state: u32) -> &'static str {
    match state {
        IBV_PORT_NOP => "without state",
        IBV_PORT_DOWN => "down",
        IBV_PORT_INIT => "initialising (no subnet manager has set it up)",
        IBV_PORT_ARMED => "armed",
        IBV_PORT_ACTIVE => "active",
        IBV_PORT_ACTIVE_DEFER => "active, but its link is down",
        _ => "in a state unknown to this version",
    }
}

/// The link layer of a port.
pub(crate) fn link_layer(layer: u8) -> &'static str {
    match layer {
        IBV_LINK_LAYER_INFINIBAND => "InfiniBand",
        IBV_LINK_LAYER_ETHERNET => "Ethernet",
        IBV_LINK_LAYER_UNSPECIFIED => "an unspecified link layer",
        _ => "a link layer unknown to this version",
    }
}

/// The type of a GID.
pub(crate) fn gid_type(kind: u32) -> &'static str {
    match kind {
        IBV_GID_TYPE_IB => "InfiniBand",
        IBV_GID_TYPE_ROCE_V1 => "RoCE v1",
        IBV_GID_TYPE_ROCE_V2 => "RoCE v2",
        _ => "a type unknown to this version",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_number_has_words_of_its_own() {
        let statuses: BTreeSet<_> = (0..=IBV_WC_TM_RNDV_INCOMPLETE + 1).map(completion_status).collect();
        assert_eq!(statuses.len(), IBV_WC_TM_RNDV_INCOMPLETE as usize + 2);
        let events: BTreeSet<_> = (0..=IBV_EVENT_WQ_FATAL + 1).map(async_event).collect();
        assert_eq!(events.len(), IBV_EVENT_WQ_FATAL as usize + 2);
        let states: BTreeSet<_> = (0..=IBV_PORT_ACTIVE_DEFER + 1).map(port_state).collect();
        assert_eq!(states.len(), IBV_PORT_ACTIVE_DEFER as usize + 2);
        let layers: BTreeSet<_> = (0..=IBV_LINK_LAYER_ETHERNET + 1).map(link_layer).collect();
        assert_eq!(layers.len(), usize::from(IBV_LINK_LAYER_ETHERNET) + 2);
        let types: BTreeSet<_> = (0..=IBV_GID_TYPE_ROCE_V2 + 1).map(gid_type).collect();
        assert_eq!(types.len(), IBV_GID_TYPE_ROCE_V2 as usize + 2);
    }
}
