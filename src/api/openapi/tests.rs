//! Tests of the API's description: every route, error and component has a description, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use super::super::route::Family;
use super::super::routes::ROUTES;
use super::*;
use crate::policy::rules;
use crate::wire::documents::documents;

fn every_operation(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    operations.collect()
}

/// Every object in the document, with the name of its member.
fn walk<'a>(name: &'a str, value: &'a Value, visit: &mut impl FnMut(&'a str, &'a Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(name, members);
            members.iter().for_each(|(name, value)| walk(name, value, visit));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(name, item, visit)),
        _ => {}
    }
}

#[test]
fn the_committed_document_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("api-ref/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let generated = text(ROUTES, None).unwrap();
    let differs = committed
        .lines()
        .zip(generated.lines())
        .position(|(old, new)| old != new);
    assert!(
        committed == generated,
        "api-ref/openapi.json differs from what `placet openapi` prints (first in line {:?}): run contrib/api-ref.sh",
        differs.map(|line| line + 1)
    );
}

#[test]
fn the_servers_are_at_one_place_of_the_document() {
    assert_eq!(document(ROUTES, None).to_string().matches(SERVERS).count(), 1);
}

#[test]
fn every_route_is_an_operation_with_a_description() {
    let document = document(ROUTES, None);
    for route in ROUTES.iter().filter(|route| !route.path.is_empty()) {
        let operation = &document["paths"][route.path][route.method.as_str().to_lowercase()];
        assert!(operation.is_object(), "{} {}", route.method, route.path);
        assert!(
            !ApiTexts::read().operation(route).is_null(),
            "{} {} has no description",
            route.method,
            route.path
        );
    }
}

#[test]
fn a_route_without_a_description_is_in_the_document() {
    let (texts, mut route) = (
        ApiTexts::read(),
        Route::post("/traits", &rules::TRAITS_UPDATE, |_| unreachable!()),
    );
    route = route.since(Version::new(30));
    let mut schemas = Schemas::new(&texts);
    let paths = paths(std::slice::from_ref(&route), &[Span::ALL], &texts, &mut schemas);
    let operation = &paths["/traits"]["post"];
    assert_eq!(operation["x-openstack"], json!({"min-ver": "1.30"}));
    for status in ["400", "404", "406", "413", "415", "500"] {
        assert!(operation["responses"][status].is_object(), "{status}");
    }
}

#[test]
fn every_description_is_of_a_route_and_names_only_existing_schemas_and_errors() {
    let texts = ApiTexts::read();
    let schemas = Schemas::new(&texts);
    let mut keys = BTreeSet::new();
    for route in ROUTES {
        keys.insert(format!("{} {}", route.method, route.path));
        if let Family::Placement { first, .. } = route.family {
            keys.insert(format!("{} {} {first}", route.method, route.path));
        }
    }
    let errors: BTreeSet<String> = sentences::all().iter().map(sentences::name).collect();
    for (key, text) in texts.operations() {
        assert!(keys.contains(key), "{key} is not in the route table");
        for name in [&text["body"], &text["query"]].into_iter().filter_map(Value::as_str) {
            assert!(schemas.has(schemas::Side::Requests, name), "{key}: {name}");
        }
        for name in text["path"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, name)| name.as_str())
        {
            assert!(schemas.newest(name).is_object(), "{key}: {name}");
        }
        for answer in text["answers"].as_object().unwrap().values() {
            let name = answer["body"].as_str();
            assert!(
                name.is_none_or(|name| schemas.has(schemas::Side::Answers, name)),
                "{key}: {name:?}"
            );
        }
        for name in text["refusals"].as_array().into_iter().flatten() {
            assert!(errors.contains(name.as_str().unwrap()), "{key}: {name}");
        }
        for version in text["changes"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(version, _)| version)
        {
            assert!(version.parse::<Version>().is_ok(), "{key}: {version}");
        }
    }
}

#[test]
fn every_error_is_a_refusal_of_some_operation() {
    let listed: BTreeSet<String> = ApiTexts::read()
        .operations()
        .flat_map(|(_, text)| text["refusals"].as_array().cloned().unwrap_or_default())
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    let general = [
        "MalformedJson",
        "InvalidBody",
        "InvalidQuery",
        "Forbidden",
        "Busy",
        "Unavailable",
        "UnknownOutcome",
        "Internal",
    ];
    let missing = sentences::all().into_iter().map(|error| sentences::name(&error));
    let missing = missing.filter(|name| !listed.contains(name));
    let missing: Vec<String> = missing.filter(|name| !general.contains(&name.as_str())).collect();
    assert_eq!(
        missing,
        Vec::<String>::new(),
        "no operation names these in its `refusals`"
    );
}

#[test]
fn every_reference_has_a_target_and_every_component_is_referenced() {
    for only in [None, Some(Span::at(Version::new(17))), Some(Span::Native)] {
        let document = document(ROUTES, only);
        let mut used = BTreeSet::new();
        walk("", &document, &mut |_, members| {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
                used.insert(reference.to_owned());
            }
        });
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/schemas/{name}")), "{name}");
        }
    }
}

#[test]
fn properties_and_parameters_are_described() {
    let (document, texts) = (document(ROUTES, None), ApiTexts::read());
    let (mut described, mut without) = (BTreeSet::new(), BTreeSet::new());
    walk("", &document["components"]["schemas"], &mut |name, members| {
        // A property may itself be called so. If so, its schema has a type.
        if name == "properties"
            && !members
                .get("type")
                .is_some_and(|kind| kind.is_string() || kind.is_array())
        {
            for (name, schema) in members {
                match schema["description"].as_str() {
                    None => without.insert(name.as_str()),
                    Some(text) => described.insert((name.as_str(), text)),
                };
            }
        }
    });
    let undescribed = BTreeSet::from([
        "allocations",
        "errors",
        "id",
        "message",
        "name",
        "resource_classes",
        "resource_provider",
        "resource_providers",
        "title",
        "uuid",
        "versions",
        "openapi",
        "info",
        "paths",
        "components",
    ]);
    assert_eq!(without, undescribed);
    let unused: Vec<_> = texts
        .words("properties")
        .filter(|word| !described.contains(word))
        .collect();
    assert!(unused.is_empty(), "no property has these words: {unused:?}");
    let mut parameters = BTreeSet::new();
    for (path, method, operation) in every_operation(&document) {
        for parameter in operation["parameters"].as_array().unwrap() {
            let is_inline = parameter["$ref"].is_null();
            parameters.extend(parameter["name"].as_str().zip(parameter["description"].as_str()));
            assert!(
                !is_inline || parameter["description"] != parameter["name"],
                "{method} {path}"
            );
        }
    }
    let unused: Vec<_> = texts.words("query").filter(|word| !parameters.contains(word)).collect();
    assert!(unused.is_empty(), "no parameter has these words: {unused:?}");
}

/// A member of the native API took the text of another noun's member of the same name.
#[test]
fn found_p12_a_member_of_the_native_api_has_a_text_of_its_own() {
    for (noun, document) in documents() {
        if !document["answers"].to_string().contains(NATIVE_STEP) || noun == "errors" {
            continue;
        }
        for side in ["requests", "answers"] {
            walk("", &document[side], &mut |name, members| {
                let is_schema = members
                    .get("type")
                    .is_some_and(|kind| kind.is_string() || kind.is_array());
                for (member, schema) in members.iter().filter(|_| name == "properties" && !is_schema) {
                    assert!(schema["description"].is_string(), "{noun}: {member}");
                }
            });
        }
    }
    let texts = ApiTexts::read();
    let text = |kind, noun, name| texts.word(kind, noun, name).unwrap();
    for (kind, name, one, other) in [
        ("query", "name", "traits", "resource_providers"),
        ("properties", "generation", "allocations", "resource_providers"),
        ("properties", "status", "root", "errors"),
    ] {
        assert_ne!(text(kind, one, name), text(kind, other, name), "{name}");
    }
}

#[test]
fn every_check_of_code_is_of_a_member_at_each_of_its_versions() {
    let (texts, mut checked) = (ApiTexts::read(), 0);
    let schemas = Schemas::new(&texts);
    let requests = documents().into_iter().flat_map(|(noun, mut document)| {
        let requests = document["code_checks"].as_object_mut().map(std::mem::take);
        let requests = requests.unwrap_or_default().into_iter();
        requests.map(move |(name, checks)| (format!("{noun}/{name}"), checks))
    });
    for (request, checks) in requests {
        for (member, steps) in checks.as_object().unwrap() {
            for (since, keywords) in steps.as_object().unwrap() {
                let at = Span::at(since.parse().unwrap());
                let forms = schemas.queries(&request, at);
                let has_keywords = |schema: &Value| {
                    let keywords = keywords.as_object().unwrap();
                    keywords.iter().all(|(keyword, value)| schema[keyword] == *value)
                };
                let mut found = false;
                let member = member.rsplit("[].").next().unwrap();
                walk("", &forms[0].1, &mut |name, members| {
                    let is_member = name == member || name.starts_with(&format!("^{member}("));
                    found |= is_member && has_keywords(&Value::Object(members.clone()));
                });
                assert!(found && forms.len() == 1, "{request}: {member} at {since}");
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "{checked} checks");
}

#[test]
fn checks_of_code_are_in_queries_bodies_and_groups_from_their_version_on() {
    let pattern = |version, name: &str| {
        let document = document(ROUTES, Some(Span::at(Version::new(version))));
        let parameters = document["paths"]["/allocation_candidates"]["get"]["parameters"].clone();
        let mut parameters = parameters.as_array().unwrap().iter();
        let parameter = parameters.find(|parameter| parameter["name"] == name).unwrap();
        match name {
            "groups" => parameter["schema"]["patternProperties"]["^required([a-zA-Z0-9_-]{1,64})$"]["pattern"].clone(),
            _ => parameter["schema"]["pattern"].clone(),
        }
    };
    // From 1.22 on a trait may be forbidden by an exclamation mark.
    assert_ne!(pattern(21, "required"), pattern(22, "required"));
    assert!(pattern(22, "required").is_string() && pattern(22, "required") == pattern(39, "groups"));
    let body = &document(ROUTES, None)["components"]["schemas"]["resource_providers.request.post-1.14"];
    assert_eq!(body["properties"]["name"]["minLength"], 1);
}

#[test]
fn a_body_that_is_not_read_may_be_anything() {
    let rename_or_ensure =
        |only| document(ROUTES, only)["paths"]["/resource_classes/{name}"]["put"]["requestBody"].clone();
    let forms = &rename_or_ensure(None)["content"]["application/json"]["schema"]["anyOf"];
    assert_eq!(forms[1], json!({"x-openstack": {"min-ver": "1.7"}}));
    assert_eq!(rename_or_ensure(Some(Span::at(Version::new(7)))), Value::Null);
}

#[test]
fn operations_have_unique_ids() {
    let document = document(ROUTES, None);
    let mut ids = BTreeMap::new();
    for (path, method, operation) in every_operation(&document) {
        let duplicate = ids.insert(operation["operationId"].as_str().unwrap(), (method, path));
        assert_eq!(duplicate, None, "{method} {path}");
    }
}

#[test]
fn the_document_of_one_version_has_only_what_holds_at_that_version() {
    let old = document(ROUTES, Some(Span::at(Version::new(8))));
    assert_eq!(old["paths"]["/allocation_candidates"], Value::Null);
    assert!(!old.to_string().contains("x-openstack"));
    let reference = &old["paths"]["/allocations/{consumer_uuid}"]["put"]["requestBody"]["content"]["application/json"];
    assert_eq!(
        reference["schema"]["$ref"],
        "#/components/schemas/allocations.request.put-1.8"
    );
    let create = &old["paths"]["/resource_providers"]["post"]["responses"];
    assert!(create["201"]["content"].is_null() && create["200"].is_null());
    assert_eq!(text(ROUTES, Some("1.40")), None);
}

#[test]
fn the_document_of_the_native_api_does_not_mention_microversions() {
    let native = document(ROUTES, Some(Span::Native));
    let paths: Vec<&String> = native["paths"].as_object().unwrap().keys().collect();
    assert!(
        !paths.is_empty() && paths.iter().all(|path| path.starts_with("/v1/")),
        "{paths:?}"
    );
    let text = text(ROUTES, Some("v1")).unwrap();
    for word in ["x-openstack", "OpenStack-API-Version", "microversion:"] {
        assert!(!text.contains(word), "{word}");
    }
    let old = document(ROUTES, Some(Span::at(Version::new(39))));
    assert_eq!(old["paths"]["/v1/"], Value::Null);
}

#[test]
fn a_generated_client_has_one_type_for_the_microversion_and_a_value_for_it() {
    let header = |document: &Value| document["components"]["parameters"]["OpenStack-API-Version"].clone();
    let newest = document(ROUTES, Some(Span::at(Version::new(39))));
    let named = json!({"$ref": "#/components/schemas/Microversion"});
    assert_eq!(
        (&header(&newest)["schema"], &header(&newest)["required"]),
        (&named, &json!(true))
    );
    let expected = json!({"type": "string", "enum": ["placement 1.39"], "default": "placement 1.39"});
    assert_eq!(newest["components"]["schemas"]["Microversion"], expected);
    let all = document(ROUTES, None);
    assert_eq!(
        (&header(&all)["schema"], &header(&all)["required"]),
        (&named, &json!(false))
    );
    assert_eq!(all["components"]["schemas"]["Microversion"]["default"], "placement 1.0");
}

#[test]
fn query_parameters_have_the_versions_in_which_they_exist() {
    let document = document(ROUTES, None);
    let candidates = &document["paths"]["/allocation_candidates"]["get"];
    let parameter = |name: &str| {
        let parameters = candidates["parameters"].as_array().unwrap();
        parameters.iter().find(|parameter| parameter["name"] == name).unwrap()
    };
    assert_eq!(parameter("limit")["x-openstack"], json!({"min-ver": "1.16"}));
    assert_eq!(parameter("resources")["required"], false);
    assert_eq!(
        parameter("groups")["schema"]["anyOf"][0]["x-openstack"],
        json!({"min-ver": "1.25", "max-ver": "1.30"})
    );
    assert!(parameter("groups")["schema"]["anyOf"][1]["patternProperties"]["^in_tree([1-9][0-9]*)$"].is_object());
}
