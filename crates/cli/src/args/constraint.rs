//! What an answer is to obey.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Form of the answer")]
#[group(multiple = false)]
pub struct ConstraintArgs {
    /// Answer in JSON that obeys this schema, given here or in a file (also -jf). What cannot be enforced is refused
    #[arg(short = 'j', long, visible_alias = "json-schema-file", value_name = "JSON|FILE")]
    pub json_schema: Option<String>,
    /// Answer in the language of a grammar in Lark's notation, from its rule `start`
    #[arg(long, value_name = "FILE")]
    pub grammar_file: Option<PathBuf>,
    /// Answer what this regular expression matches as a whole
    #[arg(long, allow_hyphen_values = true, value_name = "REGEX")]
    pub regex: Option<String>,
}
