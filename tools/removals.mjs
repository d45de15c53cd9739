// Writes two tables of apps/upgrade-svc/src/rules from Kubernetes' own sources, read as Go modules: removed.settings.ts, the feature
// gates, flags and admission plugins that a minor version no longer accepts, and corefile.plugins.ts, what kubeadm can migrate of a
// Corefile.
//   node tools/removals.mjs           writes the file
//   node tools/removals.mjs --check   writes nothing; fails where the file differs
// It needs Go and a module proxy; the product needs neither. A new minor version: add its patch to PATCHES.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';

const RULES = fileURLToPath(new URL('../apps/upgrade-svc/src/rules/', import.meta.url));
const FILE = join(RULES, 'removed.settings.ts');
const COREFILE = join(RULES, 'corefile.plugins.ts');
/** The library version of the newest kubeadm covers all earlier versions of CoreDNS. */
const MIGRATION = { module: 'github.com/coredns/corefile-migration', version: 'v1.0.31', since: [1, 8] };
/** One patch per minor version, in order; the first one is only the baseline for the second. */
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
/** The files in which each component registers its flags. */
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

/** The folders of Kubernetes and its modules at one patch. */
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

/** The registered gates, each with the value to which this minor version locks it, or undefined. */
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

/**
 * From a name to the first minor version without it, for names that an earlier version has and the newest one does not.
 */
const removedOf = (looks, namesOf, isIn = (look, name) => namesOf(look).has(name)) => {
  const removed = {};
  for (const name of new Set(looks.flatMap((look) => [...namesOf(look)]))) {
    const last = looks.findLastIndex((look) => isIn(look, name));
    if (last + 1 < looks.length) removed[name] = `1.${looks[last + 1].minor}`;
  }
  return removed;
};

const sorted = (record) => Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Gates with a locked value, and the first minor version that locks them. */
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
          // A flag that is now registered in another way still exists, so only the name is searched.
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

/** Prints unexported data of the library: plugins and options by version of CoreDNS. */
const DUMP = `package migration
import "encoding/json"
import "os"
func Dump() {
  all := map[string]map[string]map[string][]string{}
  for v, r := range Versions {
    all[v] = map[string]map[string][]string{}
    for name, p := range r.plugins {
      one := map[string][]string{"options": {}, "patterns": {}}
      for o := range p.namedOptions { one["options"] = append(one["options"], o) }
      for o := range p.patternOptions { one["patterns"] = append(one["patterns"], o) }
      all[v][name] = one
    }
  }
  _ = json.NewEncoder(os.Stdout).Encode(all)
}
`;

const corefilePlugins = () => {
  const { module, version } = MIGRATION;
  const args = ['mod', 'download', '-json', `${module}@${version}`];
  const folder = JSON.parse(spawnSync('go', args, { cwd: nowhere, encoding: 'utf8' }).stdout).Dir;
  const copy = join(nowhere, 'corefile');
  cpSync(folder, copy, { recursive: true });
  spawnSync('chmod', ['-R', 'u+w', copy]);
  writeFileSync(join(copy, 'migration', 'dump.go'), DUMP);
  writeFileSync(
    join(copy, 'main.go'),
    `package main\nimport "${module}/migration"\nfunc main() { migration.Dump() }\n`,
  );
  const { status, stdout, stderr } = spawnSync('go', ['run', '.'], { cwd: copy, encoding: 'utf8' });
  if (status !== 0) throw new Error(`go run: ${stderr}`);
  return JSON.parse(stdout);
};

const isSince = (version, [major, minor]) => {
  const [a = 0, b = 0] = version.split('.').map(Number);
  return a > major || (a === major && b >= minor);
};

/** By plugin: the CoreDNS version from which it has these options, until the next entry. */
const renderCorefile = async (versions) => {
  const numbers = (version) => version.split('.').map(Number);
  const order = Object.keys(versions)
    .filter((version) => isSince(version, MIGRATION.since))
    .sort((a, b) => numbers(a).reduce((found, part, at) => found || part - numbers(b)[at], 0));
  const byPlugin = {};
  for (const version of order)
    for (const [name, { options, patterns }] of Object.entries(versions[version])) {
      const entry = { since: version, options: options.sort(), patterns: patterns.sort() };
      const known = (byPlugin[name] ??= []);
      const last = known.at(-1);
      if (JSON.stringify({ ...last, since: '' }) !== JSON.stringify({ ...entry, since: '' })) known.push(entry);
    }
  const text = [
    '// Generated from the sources of corefile-migration by tools/removals.mjs. Do not edit.',
    '',
    constant(
      'COREFILE_PLUGINS',
      'Readonly<Record<string, readonly { readonly since: string; readonly options: readonly string[]; readonly patterns: readonly string[] }[]>>',
      'Plugin of CoreDNS: the options that kubeadm can migrate, from a version of CoreDNS on.',
      sorted(byPlugin),
    ),
  ].join('\n');
  return prettier.format(text, { ...(await prettier.resolveConfig(COREFILE)), filepath: COREFILE });
};

try {
  const texts = [
    [FILE, await render(PATCHES.map(lookAt))],
    [COREFILE, await renderCorefile(corefilePlugins())],
  ];
  for (const [file, text] of texts) {
    const differs = !existsSync(file) || readFileSync(file, 'utf8') !== text;
    if (!differs) continue;
    if (process.argv.includes('--check')) {
      console.log(`${file} differs from the sources`);
      process.exitCode = 1;
    } else writeFileSync(file, text);
  }
} finally {
  rmSync(nowhere, { recursive: true, force: true });
}
