//! Parses the shared query parameters of lists and candidates.

use super::*;

fn query(raw: &str) -> Query {
    Query::parse(raw).unwrap()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

const A: &str = "0123abcd-4567-89ab-cdef-0123456789ab";
const B: &str = "0123ABCD456789ABCDEF0123456789AB";

#[test]
fn resources_are_classes_and_amounts() {
    let expected = [("VCPU".to_owned(), 3), ("DISK_GB".to_owned(), 1_000)];
    assert_eq!(resources("VCPU:2,DISK_GB: +1_000 ,VCPU:3").unwrap(), expected);
    assert_eq!(
        resources(&format!("VCPU:{}", "9".repeat(30))).unwrap(),
        [("VCPU".to_owned(), i64::MAX)]
    );
}

#[test]
fn bad_resources_are_refused() {
    const FORM: &str = "Badly formed resources parameter. Expected resources query string parameter in form: \
                        ?resources=VCPU:2,MEMORY_MB:1024. Got: ";
    for (text, detail) in [
        ("", format!("{FORM}empty string.")),
        ("  ", format!("{FORM}empty string.")),
        ("VCPU", format!("{FORM}VCPU.")),
        ("VCPU:1,", format!("{FORM}.")),
        ("VCPU:1:2", format!("{FORM}VCPU:1:2.")),
        (
            "VCPU:x",
            "Requested resource VCPU expected positive integer amount. Got: x.".to_owned(),
        ),
        (
            "VCPU:",
            "Requested resource VCPU expected positive integer amount. Got: .".to_owned(),
        ),
        (
            "VCPU:1.5",
            "Requested resource VCPU expected positive integer amount. Got: 1.5.".to_owned(),
        ),
        (
            "VCPU:1__0",
            "Requested resource VCPU expected positive integer amount. Got: 1__0.".to_owned(),
        ),
        (
            "VCPU:0",
            "Requested resource VCPU requires amount >= 1. Got: 0.".to_owned(),
        ),
        (
            "VCPU:-05",
            "Requested resource VCPU requires amount >= 1. Got: -5.".to_owned(),
        ),
    ] {
        assert_eq!(resources(text).unwrap_err(), Error::BadRequest { detail }, "{text:?}");
    }
}

#[test]
fn required_traits_depend_on_the_version() {
    let read = |minor, raw| required(Version::new(minor), &query(raw), "");
    let traits = read(39, "required=A, B,!C&required=in:D,E&required=!!!F&required1=X").unwrap();
    assert_eq!(traits.required, [set(&["A"]), set(&["B"]), set(&["D", "E"])]);
    assert_eq!(traits.forbidden, set(&["C", "F"]));
    let traits = read(38, "required=A&required=B").unwrap();
    assert_eq!(traits.required, [set(&["B"])], "before 1.39 the last one counts");
}

#[test]
fn bad_required_traits_are_refused() {
    let refused = |minor, raw| required(Version::new(minor), &query(raw), "").unwrap_err().to_string();
    for (minor, raw, detail) in [
        (
            38,
            "required=in:A",
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: in:A",
        ),
        (
            39,
            "required=in:A,",
            "Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: \
             in:A,",
        ),
        (
            39,
            "required=in:A,!B",
            "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. Got: in:A,!B",
        ),
        (
            22,
            "required=A,!",
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,!CUSTOM_MAGIC. Got an empty trait in: A,!",
        ),
        (
            21,
            "required=",
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: ",
        ),
        (
            21,
            "required=!A",
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: !A",
        ),
    ] {
        assert_eq!(
            refused(minor, raw),
            format!("Invalid query string parameters: {detail}"),
            "1.{minor} {raw}"
        );
    }
}

#[test]
fn aggregates_depend_on_the_version() {
    let read = |minor, raw: &str| member_of(Version::new(minor), &query(raw), "");
    let members = read(
        32,
        &format!("member_of={A}&member_of=in:{A},{B}&member_of=!{A}&member_of=!in:{A},{B}"),
    )
    .unwrap();
    assert_eq!(members.any_of, [set(&[A]), set(&[A, B])], "the spelling is kept");
    assert_eq!(members.forbidden, set(&[A, B]));
    for (minor, raw, detail) in [
        (
            23,
            format!("member_of={A}&member_of={B}"),
            "Multiple member_of parameters are not supported".to_owned(),
        ),
        (
            31,
            format!("member_of=!{A}"),
            "Forbidden member_of parameters are not supported in the specified microversion".to_owned(),
        ),
        (
            32,
            format!("member_of={A},{B}"),
            format!(
                "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid \
                 microversion. Got: {A},{B}"
            ),
        ),
        (
            32,
            "member_of=in:x".to_owned(),
            "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: x"
                .to_owned(),
        ),
        (
            32,
            "member_of=".to_owned(),
            "Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: "
                .to_owned(),
        ),
    ] {
        assert_eq!(read(minor, &raw).unwrap_err().to_string(), detail, "1.{minor} {raw}");
    }
}

#[test]
fn a_tree_is_named_by_a_uuid() {
    assert_eq!(in_tree(&format!(" {B} ")).unwrap(), B);
    assert_eq!(in_tree(&format!("\u{1c}{B}\u{1f}")).unwrap(), B, "blanks of Python's");
    assert_eq!(
        in_tree("x").unwrap_err().to_string(),
        "Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: x"
    );
}
