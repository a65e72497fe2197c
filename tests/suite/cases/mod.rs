//! Behaviour cases, one module each, named after their folder.

mod case_24_key_in_another_spelling;
mod case_25_settings_keep_foreign_hooks;
mod case_40_bare_environment;
mod case_44_names_with_spaces_install;
