// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes dist/ of src/: the script with the libraries it uses, the style sheet, the script's SHA-256, and the libraries' licences.
//
// It fails where a library has a licence that is not listed here, where the script holds what would end its element in a page, and
// where script and style are larger than they may be.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const dist = join(root, "dist");
const LICENCES = ["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "0BSD"];
// A page without data: script and style.
const MOST_BYTES = 500_000;

const common = { absWorkingDir: root, bundle: true, minify: true, write: false, legalComments: "none", charset: "utf8" };
const script = await build({ ...common, entryPoints: ["src/main.js"], format: "iife", target: "es2022", metafile: true });
const style = await build({ ...common, entryPoints: ["src/style/page.css"], target: "es2022" });
const texts = { script: script.outputFiles[0].text, style: style.outputFiles[0].text };

for (const mark of ["</script", "<script", "<!--"]) {
  if (texts.script.toLowerCase().includes(mark)) fail(`the script holds ${mark}, which a page may not`);
}
if (texts.style.toLowerCase().includes("</style")) fail("the style sheet holds </style, which a page may not");
const bytes = Buffer.byteLength(texts.script) + Buffer.byteLength(texts.style);
if (bytes > MOST_BYTES) fail(`script and style are ${bytes} bytes; ${MOST_BYTES} may be`);

mkdirSync(dist, { recursive: true });
write("page.js", texts.script);
write("page.js.sha256", createHash("sha256").update(texts.script).digest("base64") + "\n");
write("page.css", texts.style);
write("notices.txt", notices(Object.keys(script.metafile.inputs)));
console.log(`page/dist: ${bytes} bytes of script and style`);

// A file appears whole or not at all.
function write(name, text) {
  writeFileSync(join(dist, `${name}.tmp`), text);
  renameSync(join(dist, `${name}.tmp`), join(dist, name));
}

function fail(message) {
  console.error(`page: ${message}`);
  process.exit(1);
}

// The licences of the packages that files in the script are of, by name.
function notices(inputs) {
  const folders = new Set(inputs.map((path) => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean));
  return [...folders].sort().map(notice).join("\n\n");
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  if (!LICENCES.includes(license)) fail(`${name} ${version} is under ${license}; allowed are ${LICENCES.join(", ")}`);
  const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (!file || !existsSync(join(root, folder, file))) fail(`${name} ${version} has no file with its licence`);
  const text = readFileSync(join(root, folder, file), "utf8").trim().split(/\s+/).join(" ");
  return `${name} ${version} (${license})\n${text}`;
}
