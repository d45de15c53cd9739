// Writes all generated files of the repository, or with --check reports those that are out of date. Run after a build.
import { readFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { manifestJsonSchema, templateJsonSchema } from '@fairlead/contracts';
import { describeApi } from '../../apps/gateway/dist/documents/describe.js';
import { checklistReference } from './checklists.mjs';
import { writeClientTypes } from './client.mjs';
import { eventReference, refusalReference } from './references.mjs';
import { upgradeReference } from './upgrades.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

const STYLE = { singleQuote: true, printWidth: 120, trailingComma: 'all' };
const json = (value) => format(JSON.stringify(value), { ...STYLE, printWidth: 140, parser: 'json' });
const markdown = (text) => format(text, { ...STYLE, parser: 'markdown' });
/** Not padded: in tables with long cells, each column has the width that it needs. */
const unpadded = (text) => format(text, { ...STYLE, parser: 'markdown', proseWrap: 'never' });

/** docs/provider.v1.proto for the program, which reads no file beside itself. */
const protocolModule = async () => {
  const text = await readFile(join(root, 'docs/provider.v1.proto'), 'utf8');
  const literal = text.replaceAll(/[\\`$]/gu, '\\$&');
  return `/** Generated from docs/provider.v1.proto. */\nexport const PROVIDER_PROTO = \`${literal}\`;\n`;
};

const generated = async () => {
  const openApi = await describeApi();
  return new Map([
    ['docs/openapi.json', await json(openApi)],
    ['docs/cluster.schema.json', await json(manifestJsonSchema())],
    ['docs/cluster-template.schema.json', await json(templateJsonSchema())],
    ['docs/events.md', await markdown(eventReference())],
    ['docs/refusals.md', await markdown(refusalReference())],
    ['docs/upgrades.md', await markdown(upgradeReference())],
    ['apps/infra-svc/src/adapters/external/provider.v1.proto.ts', await protocolModule()],
    ['docs/reports/checklists.md', await unpadded(await checklistReference(root))],
  ]);
};

const read = (file) => readFile(join(root, file), 'utf8').catch(() => undefined);

const check = async (files) => {
  const stale = [];
  for (const [file, text] of files) if ((await read(file)) !== text) stale.push(file);
  if (stale.length === 0) return void console.log(`${files.size} generated files are up to date`);
  console.error(`these files no longer follow from the code; run \`npm run generate\`:\n  ${stale.join('\n  ')}`);
  process.exitCode = 1;
};

const write = async (files) => {
  for (const [file, text] of files) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
    console.log(file);
  }
  await writeClientTypes();
};

const files = await generated();
await (process.argv.includes('--check') ? check(files) : write(files));
