//! Sizes and offsets of the C types of libibverbs, as a C compiler finds them in the header of rdma-core 44.

/// Gives each type to a macro, with its size, and each of its fields with its offset. `MORE`: by how much a mutex
/// exceeds 40 bytes.
macro_rules! layouts {
    ($check:ident) => {
        $check!(
            ibv_device, 664, _ops 0, node_type 16, transport_type 20, name 24, dev_name 88, dev_path 152,
            ibdev_path 408
        );
        $check!(
            ibv_context_ops, 256, _compat_query_device 0, poll_cq 88, req_notify_cq 96, _compat_cq_event 104,
            post_send 200, post_recv 208, _compat_create_ah 216
        );
        $check!(
            ibv_context, 328 + MORE, device 0, ops 8, cmd_fd 264, async_fd 268, num_comp_vectors 272, mutex
            280, abi_compat 320 + MORE
        );
        $check!(
            ibv_device_attr, 232, fw_ver 0, node_guid 64, sys_image_guid 72, max_mr_size 80, page_size_cap 88,
            vendor_id 96, vendor_part_id 100, hw_ver 104, max_qp 108, max_qp_wr 112, device_cap_flags 116,
            max_sge 120, max_sge_rd 124, max_cq 128, max_cqe 132, max_mr 136, max_pd 140, max_qp_rd_atom 144,
            max_ee_rd_atom 148, max_res_rd_atom 152, max_qp_init_rd_atom 156, max_ee_init_rd_atom 160,
            atomic_cap 164, max_ee 168, max_rdd 172, max_mw 176, max_raw_ipv6_qp 180, max_raw_ethy_qp 184,
            max_mcast_grp 188, max_mcast_qp_attach 192, max_total_mcast_qp_attach 196, max_ah 200, max_fmr
            204, max_map_per_fmr 208, max_srq 212, max_srq_wr 216, max_srq_sge 220, max_pkeys 224,
            local_ca_ack_delay 226, phys_port_cnt 227
        );
        $check!(
            ibv_port_attr, 52, state 0, max_mtu 4, active_mtu 8, gid_tbl_len 12, port_cap_flags 16, max_msg_sz
            20, bad_pkey_cntr 24, qkey_viol_cntr 28, pkey_tbl_len 32, lid 34, sm_lid 36, lmc 38, max_vl_num
            39, sm_sl 40, subnet_timeout 41, init_type_reply 42, active_width 43, active_speed 44, phys_state
            45, link_layer 46, flags 47, port_cap_flags2 48
        );
        $check!(ibv_gid, 16, raw 0, global 0);
        $check!(ibv_gid__bindgen_ty_1, 16, subnet_prefix 0, interface_id 8);
        $check!(ibv_gid_entry, 32, gid 0, gid_index 16, port_num 20, gid_type 24, ndev_ifindex 28);
        $check!(ibv_async_event, 16, element 0, event_type 8);
        $check!(ibv_async_event__bindgen_ty_1, 8, cq 0, qp 0, srq 0, wq 0, port_num 0);
        $check!(ibv_pd, 16, context 0, handle 8);
        $check!(ibv_mr, 48, context 0, pd 8, addr 16, length 24, handle 32, lkey 36, rkey 40);
        $check!(ibv_comp_channel, 16, context 0, fd 8, refcnt 12);
        $check!(
            ibv_cq, 128 + MORE, context 0, channel 8, cq_context 16, handle 24, cqe 28, mutex 32, cond 72 +
            MORE, comp_events_completed 120 + MORE, async_events_completed 124 + MORE
        );
        $check!(
            ibv_qp, 160 + MORE, context 0, qp_context 8, pd 16, send_cq 24, recv_cq 32, srq 40, handle 48,
            qp_num 52, state 56, qp_type 60, mutex 64, cond 104 + MORE, events_completed 152 + MORE
        );
        $check!(
            ibv_qp_cap, 20, max_send_wr 0, max_recv_wr 4, max_send_sge 8, max_recv_sge 12, max_inline_data 16
        );
        $check!(
            ibv_qp_init_attr, 64, qp_context 0, send_cq 8, recv_cq 16, srq 24, cap 32, qp_type 52, sq_sig_all
            56
        );
        $check!(ibv_global_route, 24, dgid 0, flow_label 16, sgid_index 20, hop_limit 21, traffic_class 22);
        $check!(
            ibv_ah_attr, 32, grh 0, dlid 24, sl 26, src_path_bits 27, static_rate 28, is_global 29, port_num
            30
        );
        $check!(
            ibv_qp_attr, 144, qp_state 0, cur_qp_state 4, path_mtu 8, path_mig_state 12, qkey 16, rq_psn 20,
            sq_psn 24, dest_qp_num 28, qp_access_flags 32, cap 36, ah_attr 56, alt_ah_attr 88, pkey_index 120,
            alt_pkey_index 122, en_sqd_async_notify 124, sq_draining 125, max_rd_atomic 126,
            max_dest_rd_atomic 127, min_rnr_timer 128, port_num 129, timeout 130, retry_cnt 131, rnr_retry
            132, alt_port_num 133, alt_timeout 134, rate_limit 136
        );
        $check!(ibv_sge, 16, addr 0, length 8, lkey 12);
        $check!(
            ibv_send_wr, 128, wr_id 0, next 8, sg_list 16, num_sge 24, opcode 28, send_flags 32,
            __bindgen_anon_1 36, wr 40, qp_type 72, __bindgen_anon_2 80
        );
        $check!(ibv_send_wr__bindgen_ty_2, 32, rdma 0, ud 0);
        $check!(ibv_send_wr__bindgen_ty_2__bindgen_ty_1, 16, remote_addr 0, rkey 8);
        $check!(ibv_send_wr__bindgen_ty_2__bindgen_ty_2, 32, remote_addr 0, compare_add 8, swap 16, rkey 24);
        $check!(ibv_send_wr__bindgen_ty_2__bindgen_ty_3, 16, ah 0, remote_qpn 8, remote_qkey 12);
        $check!(ibv_send_wr__bindgen_ty_3, 4, xrc 0);
        $check!(ibv_send_wr__bindgen_ty_3__bindgen_ty_1, 4, remote_srqn 0);
        $check!(ibv_send_wr__bindgen_ty_4__bindgen_ty_1, 48, mw 0, rkey 8, bind_info 16);
        $check!(ibv_mw_bind_info, 32, mr 0, addr 8, length 16, mw_access_flags 24);
        $check!(ibv_send_wr__bindgen_ty_4__bindgen_ty_2, 16, hdr 0, hdr_sz 8, mss 10);
        $check!(ibv_recv_wr, 32, wr_id 0, next 8, sg_list 16, num_sge 24);
        $check!(
            ibv_wc, 48, wr_id 0, status 8, opcode 12, vendor_err 16, byte_len 20, __bindgen_anon_1 24, qp_num
            28, src_qp 32, wc_flags 36, pkey_index 40, slid 42, sl 44, dlid_path_bits 45
        );
    };
}

pub(crate) use layouts;
