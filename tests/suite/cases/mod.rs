//! Behaviour cases, one module each, named after the case.

mod case_22_toml_keeps_its_looks;
mod case_23_unreadable_config_stays;
mod case_24_key_in_another_spelling;
mod case_26_no_empty_files;
mod case_27_switched_off_is_off;
mod case_28_file_that_is_full;
mod case_29_taking_back;
mod case_30_damaged_markers;
mod case_43_target_cannot_be_written;
mod case_48_one_bad_project;
mod case_49_links_and_imports;
mod case_50_rules_front_matter;
