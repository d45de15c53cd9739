// The types of the API client, from docs/openapi.json: libs/api-client/generated/openapi.d.ts. They are built, not committed.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const pathOf = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const TARGET = pathOf('libs/api-client/generated/openapi.d.ts');

const existing = () => {
  try {
    return readFileSync(TARGET, 'utf8');
  } catch {
    return '';
  }
};

/** Does nothing where the types already follow from the document. */
export const writeClientTypes = async () => {
  const text = readFileSync(pathOf('docs/openapi.json'), 'utf8');
  const own = readFileSync(fileURLToPath(import.meta.url), 'utf8');
  const sha256 = createHash('sha256').update(text).update(own).digest('hex');
  const head = `// From docs/openapi.json by tools/generate/client.mjs (sha256 of both ${sha256}). Do not edit.\n`;
  if (existing().startsWith(head)) return;
  const { astToString, default: openapiTS } = await import('openapi-typescript');
  mkdirSync(dirname(TARGET), { recursive: true });
  // What has a default may be left out of a request; of an answer the document says itself what is always there.
  const types = await openapiTS(JSON.parse(text), { defaultNonNullable: false });
  writeFileSync(TARGET, head + astToString(types));
};

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeClientTypes();
