// Prints the page `/docs` as JSON: its list and its text.
//
//     node render.mjs RENDER.mjs OPENAPI.json SAMPLES.json

import fs from "node:fs";

const [script, ...data] = process.argv.slice(2);
const { Api, matches } = await import(script);
const [description, samples] = data.map((path) => JSON.parse(fs.readFileSync(path, "utf8")));
const api = new Api(description, samples);
const words = [...api.navigation().matchAll(/data-words="([^"]*)"/g)].map((found) => found[1]);
// The words of each operation find the operation, and nonsense finds none.
const summaries = api.operations.map((entry) => entry.operation.summary);
const isFound = (summary) => words.some((text) => matches(`  ${summary.toUpperCase()} `, text));
console.log(JSON.stringify({
  navigation: api.navigation(),
  contents: api.contents(),
  unfound: summaries.filter((summary) => !isFound(summary)),
  nonsense: words.filter((text) => matches("get no-such-word", text)),
}));
