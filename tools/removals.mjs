// Writes apps/upgrade-svc/src/rules/removed.settings.ts: feature gates, flags and admission plugins that a minor version of
// Kubernetes no longer accepts, read from Kubernetes' own sources as Go modules.
//   node tools/removals.mjs           writes the file
//   node tools/removals.mjs --check   writes nothing; fails where the file differs
// It needs Go and a module proxy; the product needs neither. A new minor version: add its patch to PATCHES.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';

const FILE = fileURLToPath(new URL('../apps/upgrade-svc/src/rules/removed.settings.ts', import.meta.url));
/** One of each minor version, in order; the first is only what the second is compared with. */
const PATCHES = ['29.15', '30.14', '31.14', '32.13', '33.13', '34.4', '35.4', '36.3'];
const STAGING = [
  'apiextensions-apiserver',
  'apiserver',
  'client-go',
  'cloud-provider',
  'component-base',
  'controller-manager',
  'kube-aggregator',
];
const FEATURES = [
  'kubernetes/pkg/features',
  'apiextensions-apiserver/pkg/features',
  'apiserver/pkg/features',
  'client-go/features',
  'component-base/logs/api',
  'component-base/metrics/features',
  'component-base/zpages/features',
  'controller-manager/pkg/features',
  'cloud-provider/app',
];
const SHARED = ['component-base'];
const SERVER = [...SHARED, 'apiserver/pkg/server', 'apiserver/pkg/util', 'apiserver/pkg/admission'];
/** Where each component registers its flags. */
const COMPONENTS = {
  'kube-apiserver': [
    ...SERVER,
    'kubernetes/cmd/kube-apiserver',
    'kubernetes/pkg/kubeapiserver',
    'kubernetes/pkg/controlplane',
    'apiextensions-apiserver/pkg',
    'kube-aggregator/pkg',
  ],
  'kube-controller-manager': [
    ...SERVER,
    'kubernetes/cmd/kube-controller-manager',
    'kubernetes/pkg/controller',
    'controller-manager',
    'cloud-provider',
  ],
  'kube-scheduler': [...SERVER, 'kubernetes/cmd/kube-scheduler', 'kubernetes/pkg/scheduler'],
  kubelet: [
    ...SHARED,
    'apiserver/pkg/util',
    'kubernetes/cmd/kubelet',
    'kubernetes/pkg/kubelet',
    'kubernetes/pkg/credentialprovider',
  ],
  'kube-proxy': [...SHARED, 'apiserver/pkg/util', 'kubernetes/cmd/kube-proxy', 'kubernetes/pkg/proxy/apis'],
};

const nowhere = mkdtempSync(join(tmpdir(), 'fairlead-removals-'));

const download = (module, version) => {
  const args = ['mod', 'download', '-json', `k8s.io/${module}@${version}`];
  const { status, stdout, stderr, error } = spawnSync('go', args, { cwd: nowhere, encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`go ${args.join(' ')}: ${stderr || stdout}`);
  return JSON.parse(stdout).Dir;
};

/** Folders of Kubernetes and its modules at one patch. */
const sourcesOf = (patch) =>
  Object.fromEntries([
    ['kubernetes', download('kubernetes', `v1.${patch}`)],
    ...STAGING.map((module) => [module, download(module, `v0.${patch}`)]),
  ]);

const goFilesIn = (folder) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.go') && !entry.name.endsWith('_test.go'))
        .map((entry) => join(entry.parentPath, entry.name))
    : [];

const textOf = (sources, path) => {
  const [module, ...rest] = path.split('/');
  return goFilesIn(join(sources[module], ...rest))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
};

const CONSTANT = /^\s*(\w+)\s+(?:featuregate\.)?Feature\s*=\s*"(\w+)"/gm;
const REGISTERED = /^\t(?:\w+\.)?(\w+):\s*\{([^\n]*(?:\n\t\t\{[^\n]*)*)/gm;
const LOCKED = /(?:Version: version\.MustParse\("(1\.\d+)"\), )?Default: (true|false)[^}\n]*LockToDefault: true/g;

/** Registered gates, each with the value that it is locked to at this minor version, or undefined. */
const gatesIn = (sources, minor) => {
  const text = FEATURES.map((path) => textOf(sources, path)).join('\n');
  const names = new Map([...text.matchAll(CONSTANT)].map(([, constant, name]) => [constant, name]));
  return new Map(
    [...text.matchAll(REGISTERED)].flatMap(([, constant, body]) => {
      const name = names.get(constant);
      if (name === undefined) return [];
      const locked = [...body.matchAll(LOCKED)].findLast(
        ([, since]) => since === undefined || Number(since.slice(2)) <= minor,
      );
      return [[name, locked === undefined ? undefined : locked[2] === 'true']];
    }),
  );
};

const REGISTRATION =
  /(?:\.\w*Var\w*|\.(?:String|Bool|Int|Duration)\w*|register\w*|addCredentialProviderFlag\w*)\([^\n]*?"([a-z][a-z0-9]*(?:-[a-z0-9]+)+)"/g;

const flagsIn = (text) => new Set([...text.matchAll(REGISTRATION)].map(([, flag]) => flag));

const pluginsIn = (sources) => {
  const text = readFileSync(join(sources.kubernetes, 'pkg/kubeapiserver/options/plugins.go'), 'utf8');
  const [, list = ''] = /var AllOrderedPlugins = \[\]string\{\n([\s\S]*?)\n\}/.exec(text) ?? [];
  return new Set([...list.matchAll(/\/\/ (\w+)$/gm)].map(([, name]) => name));
};

const lookAt = (patch) => {
  const minor = Number(patch.split('.')[0]);
  const sources = sourcesOf(patch);
  const components = Object.fromEntries(
    Object.entries(COMPONENTS).map(([name, paths]) => {
      const text = paths.map((path) => textOf(sources, path)).join('\n');
      return [name, { text, flags: flagsIn(text) }];
    }),
  );
  return { minor, gates: gatesIn(sources, minor), components, plugins: pluginsIn(sources) };
};

/** Name -> the first minor version without it, of what an earlier one has and the newest has not. */
const removedOf = (looks, namesOf, isIn = (look, name) => namesOf(look).has(name)) => {
  const removed = {};
  for (const name of new Set(looks.flatMap((look) => [...namesOf(look)]))) {
    const last = looks.findLastIndex((look) => isIn(look, name));
    if (last + 1 < looks.length) removed[name] = `1.${looks[last + 1].minor}`;
  }
  return removed;
};

const sorted = (record) => Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Gates that can no longer be set to the other value, from the minor version on that locks them. */
const lockedOf = (looks) => {
  const locked = {};
  for (const { minor, gates } of looks)
    for (const [name, value] of gates)
      if (value !== undefined && !(name in locked)) locked[name] = { since: `1.${minor}`, value };
  return locked;
};

const constant = (name, type, doc, value) =>
  `/** ${doc} */\nexport const ${name}: ${type} = ${JSON.stringify(value)};\n`;

const render = async (looks) => {
  const flags = Object.fromEntries(
    Object.keys(COMPONENTS).map((component) => [
      component,
      sorted(
        removedOf(
          looks,
          ({ components }) => components[component].flags,
          // A flag that is registered in another way by now still exists, so the name alone counts.
          ({ components }, flag) => components[component].text.includes(`"${flag}"`),
        ),
      ),
    ]),
  );
  const text = [
    '// Generated from the sources of Kubernetes by tools/removals.mjs. Do not edit.',
    `// Compared: ${PATCHES.map((patch) => `1.${patch}`).join(', ')}.`,
    '',
    constant(
      'REMOVED_GATES',
      'Readonly<Record<string, string>>',
      'Feature gate: the first minor version that does not know it.',
      sorted(removedOf(looks, ({ gates }) => new Set(gates.keys()))),
    ),
    constant(
      'LOCKED_GATES',
      'Readonly<Record<string, { readonly since: string; readonly value: boolean }>>',
      'Feature gate: the only value that it may have, from a minor version on.',
      sorted(lockedOf(looks)),
    ),
    constant(
      'REMOVED_FLAGS',
      'Readonly<Record<string, Readonly<Record<string, string>>>>',
      'Component, flag without dashes: the first minor version that does not know it.',
      flags,
    ),
    constant(
      'REMOVED_ADMISSION_PLUGINS',
      'Readonly<Record<string, string>>',
      'Admission plugin of kube-apiserver: the first minor version that does not know it.',
      sorted(removedOf(looks, ({ plugins }) => plugins)),
    ),
  ].join('\n');
  return prettier.format(text, { ...(await prettier.resolveConfig(FILE)), filepath: FILE });
};

try {
  const text = await render(PATCHES.map(lookAt));
  const differs = !existsSync(FILE) || readFileSync(FILE, 'utf8') !== text;
  if (process.argv.includes('--check')) {
    console.log(differs ? `${FILE} differs from the sources of Kubernetes` : 'The file is as the sources have it.');
    process.exitCode = differs ? 1 : 0;
  } else if (differs) writeFileSync(FILE, text);
} finally {
  rmSync(nowhere, { recursive: true, force: true });
}
