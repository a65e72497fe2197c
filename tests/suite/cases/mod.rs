//! Behaviour cases: one small module each, named after the behaviour it guards.

mod case_04_same_text_ten_times;
mod case_05_same_text_other_bytes;
mod case_06_project_spelled_differently;
mod case_16_broken_escapes;
mod case_24_key_in_another_spelling;
mod case_25_settings_keep_foreign_hooks;
mod case_26_no_empty_files;
mod case_27_switched_off_is_off;
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
mod case_44_names_with_spaces;
mod case_44_names_with_spaces_install;
