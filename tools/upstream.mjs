// Vendors the manifests of networks again: apps/bootstrap-svc/upstream/sources.json names each release as a Go module, because
// the checksum database of Go vouches for the contents of one. A file is copied, or rendered from a chart by a pinned Helm.
//   node tools/upstream.mjs           writes the files, and their checksums into sources.json
//   node tools/upstream.mjs --check   writes nothing; fails where a file or a checksum differs
// It needs Go and a module proxy; the product needs neither.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const UPSTREAM = fileURLToPath(new URL('../apps/bootstrap-svc/upstream/', import.meta.url));
const SOURCES = join(UPSTREAM, 'sources.json');
const isCheck = process.argv.includes('--check');
const nowhere = mkdtempSync(join(tmpdir(), 'fairlead-upstream-'));

/** Outside any module, and without the user's Helm plugins and repositories. */
const go = (...args) => {
  const env = { ...process.env, HELM_CONFIG_HOME: nowhere, HELM_DATA_HOME: nowhere, HELM_CACHE_HOME: nowhere };
  const { status, stdout, stderr, error } = spawnSync('go', args, {
    cwd: nowhere,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`go ${args.join(' ')}: ${stderr || stdout}`);
  return stdout;
};

const download = ({ module, moduleVersion }) =>
  JSON.parse(go('mod', 'download', '-json', `${module}@${moduleVersion}`));

const render = ({ module, version, kubeVersion }, name, chart, values) =>
  go(
    'run',
    `${module}/cmd/helm@${version}`,
    ...['template', name, chart, '--namespace', 'kube-system', '--values', values, '--kube-version', kubeVersion],
  );

const contentsOf = (helm, name, folder, { from, chart, values }) =>
  from === undefined
    ? render(helm, name, join(folder, chart), join(UPSTREAM, values))
    : readFileSync(join(folder, from), 'utf8');

const written = (file) => {
  try {
    return readFileSync(join(UPSTREAM, file), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
};

const write = (file, text) => {
  const path = join(UPSTREAM, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o644);
};

const differences = [];

const vendorFile = (helm, release, folder, entry) => {
  const text = contentsOf(helm, release.name, folder, entry);
  const sha256 = createHash('sha256').update(text).digest('hex');
  if (written(entry.file) !== text || entry.sha256 !== sha256) differences.push(entry.file);
  if (!isCheck) write(entry.file, text);
  return { ...entry, sha256 };
};

const vendor = (helm, release) => {
  const { Dir: folder, Sum: sum } = download(release);
  if (release.sum !== sum) differences.push(`the checksum of ${release.module}`);
  return { ...release, sum, files: release.files.map((entry) => vendorFile(helm, release, folder, entry)) };
};

try {
  const { helm, releases } = JSON.parse(readFileSync(SOURCES, 'utf8'));
  const sources = { helm, releases: releases.map((release) => vendor(helm, release)) };
  if (!isCheck) write('sources.json', `${JSON.stringify(sources, null, 2)}\n`);
  const verb = isCheck ? 'differs from upstream' : 'is new';
  console.log(
    differences.length === 0
      ? 'Every file is as upstream has it.'
      : differences.map((name) => `${name} ${verb}`).join('\n'),
  );
  process.exitCode = isCheck && differences.length > 0 ? 1 : 0;
} finally {
  rmSync(nowhere, { recursive: true, force: true });
}
