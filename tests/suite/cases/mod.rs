//! Behaviour cases, one module each, named after the case. A case that several parts share has a
//! module for each part.

mod case_04_same_text_ten_times;
mod case_05_same_text_other_bytes;
mod case_06_project_spelled_differently;
mod case_16_broken_escapes;
mod case_22_toml_keeps_its_looks;
mod case_23_unreadable_config_stays;
mod case_24_key_in_another_spelling;
mod case_24_key_in_another_spelling_routed;
mod case_25_settings_keep_foreign_hooks;
mod case_26_no_empty_files;
mod case_26_no_empty_files_routed;
mod case_27_switched_off_is_off;
mod case_27_switched_off_is_off_routed;
mod case_28_file_that_is_full;
mod case_29_taking_back;
mod case_30_damaged_markers;
mod case_31_nothing_was_said;
mod case_32_still_being_written;
mod case_33_subagents_and_summaries;
mod case_34_very_large_transcript;
mod case_35_cut_inside_a_character;
mod case_36_exit_is_never_held_up;
mod case_37_does_not_watch_itself;
mod case_38_own_words_come_back;
mod case_39_nobody_called_the_hook;
mod case_40_bare_environment;
mod case_43_target_cannot_be_written;
mod case_44_names_with_spaces;
mod case_44_names_with_spaces_install;
mod case_48_one_bad_project;
mod case_49_links_and_imports;
mod case_50_rules_front_matter;
