//! `GET /openapi.json`: the routes and their fields, for programs.

use axum::http::header;
use axum::response::IntoResponse;

/// The document, in OpenAPI 3.1.
const DOCUMENT: &str = include_str!("openapi.json");

pub(crate) async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use minfer::{Engine, EngineOptions, GgufFile, Model, SessionOptions};
    use serde_json::Value as Json;

    use super::DOCUMENT;
    use crate::ignored::Ignored;
    use crate::{ApiError, Server, ServerOptions, chat, completions, embeddings, responses};

    fn server() -> Arc<Server> {
        let bytes = synthetic::build("qwen2", "micro", "F32", 1, None).unwrap();
        let model = Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap();
        let session = SessionOptions { n_ctx: 128, ..SessionOptions::default() };
        let engine = EngineOptions { session, threads: Some(1), ..EngineOptions::default() };
        let options = ServerOptions { names: vec!["smollm2-135m".to_owned()], ..ServerOptions::default() };
        Arc::new(Server::new(Engine::new(Arc::new(model), &engine).unwrap(), options))
    }

    /// Names of the properties of a schema, of objects within too, but not of those in lists.
    fn names(document: &Json, schema: &Json, path: &str, found: &mut BTreeSet<String>) {
        if let Some(pointer) = schema["$ref"].as_str() {
            return names(document, document.pointer(&pointer[1..]).unwrap(), path, found);
        }
        for part in ["allOf", "anyOf"].iter().filter_map(|key| schema[key].as_array()).flatten() {
            names(document, part, path, found);
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            names(document, inner, &path, found);
            found.insert(path);
        }
    }

    #[test]
    fn the_document_has_the_fields_that_the_code_reads_and_no_other() {
        type Read = fn(&[u8], &Arc<Server>) -> Result<Ignored, ApiError>;
        let document: Json = serde_json::from_str(DOCUMENT).unwrap();
        assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
        let server = server();
        let routes: [(&str, Read); 4] = [
            ("/v1/chat/completions", |body, server| chat::read(body, server).map(|plan| plan.ignored)),
            ("/v1/completions", |body, server| completions::read(body, server).map(|plan| plan.ignored)),
            ("/v1/responses", |body, server| responses::read(body, server).map(|plan| plan.ignored)),
            ("/v1/embeddings", |body, server| embeddings::read(body, server, 128).map(|it| it.ignored)),
        ];
        for (route, read) in routes {
            let content = &document["paths"][route]["post"]["requestBody"]["content"]["application/json"];
            let mut documented = BTreeSet::new();
            names(&document, &content["schema"], "", &mut documented);
            let (mut asked, mut shown) = (BTreeSet::new(), BTreeSet::new());
            for (name, example) in content["examples"].as_object().unwrap() {
                let body = example["value"].to_string();
                let ignored = read(body.as_bytes(), &server);
                asked.extend(ignored.unwrap_or_else(|error| panic!("{route} {name}: {error}")).asked);
                shown.extend(example["value"].as_object().unwrap().keys().cloned());
            }
            // Those in lists are told with their place.
            asked.retain(|name| !name.contains('['));
            let outer = |names: &BTreeSet<String>| -> BTreeSet<String> {
                names.iter().filter(|name| !name.contains('.')).cloned().collect()
            };
            assert_eq!(outer(&asked), outer(&documented), "{route}");
            assert_eq!(shown, outer(&documented), "{route}: an example has each field");
            let left: Vec<_> = asked.difference(&documented).collect();
            assert!(left.is_empty(), "{route}: {left:?} is not in the document");
        }
    }
}
