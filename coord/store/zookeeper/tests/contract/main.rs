//! The contract of every store, tried on the one in memory and on a real ensemble of three members.
//!
//! Each case is written once, for any [`World`](worlds::World). On a real ensemble each has a root and links of its own, so
//! that all of them can share its members.
#![allow(clippy::unwrap_used, reason = "a test may fail by it")]

mod cluster;
mod differential;
mod election;
mod golden;
mod interruptions;
mod operations;
mod rights;
mod watches;
mod worlds;

/// Every case, for one kind of world.
macro_rules! cases {
    ($($module:ident: $($case:ident),* $(,)?;)*) => {
        /// In memory.
        mod memory {
            $($(
                #[test]
                fn $case() {
                    super::$module::$case(&super::worlds::Memory::new());
                }
            )*)*
        }

        /// On a real ensemble.
        mod zookeeper {
            $($(
                #[test]
                fn $case() {
                    if let Some(world) = super::worlds::RealEnsemble::new(stringify!($case)) {
                        super::$module::$case(&world);
                    }
                }
            )*)*
        }
    };
}

cases! {
    operations:
        a_node_is_made_read_set_and_deleted,
        each_condition_is_told,
        numbers_count_every_child_that_was_ever_made,
        a_multi_is_done_as_a_whole_or_not_at_all,
        operations_are_done_and_answered_in_their_order,
        what_is_too_large_is_refused_and_the_connection_stays,
        after_a_sync_a_read_is_fresh;
    watches:
        a_change_of_data_is_told_once,
        a_node_that_comes_or_goes_is_told,
        children_that_come_and_go_are_told,
        a_watch_that_is_armed_twice_is_told_once;
    rights:
        only_who_has_a_right_may_do_what_it_says,
        the_creator_must_have_said_who_it_is;
    interruptions:
        what_a_session_holds_goes_with_its_end,
        an_interruption_keeps_the_session_and_tells_every_watch,
        an_expired_session_is_followed_by_another_and_nothing_slips_into_it,
        an_operation_under_way_has_an_unknown_outcome;
    election:
        the_first_candidate_leads_and_the_next_one_follows,
        a_session_has_one_place_in_the_queue,
        a_deposed_leader_writes_nothing,
        a_candidate_finds_its_place_again;
    cluster:
        folders_are_made_once_and_stay,
        a_base_is_written_changed_and_removed_with_all_that_belongs_to_the_topology,
        the_newest_ten_errors_stay_when_their_writer_is_gone,
        garbage_is_named_and_left_alone,
        a_root_of_apache_storm_is_recognised_and_left_untouched,
        who_lives_is_known_by_its_session,
        blobs_have_holders_and_numbers,
        remains_are_removed_also_while_somebody_writes,
        profile_requests_and_credentials_come_back;
    golden:
        a_tree_in_the_same_situation_is_storms;
}
