// Checks the third-party packages in production: known vulnerabilities (`npm audit`) and licences. Exits with 1 for a
// vulnerability of severity high or critical, or a licence that is not on the list.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Permissive licences: they require their own text, and nothing for our code. */
const ACCEPTED = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
]);

/** One accepted alternative is enough: `(MIT OR GPL-3.0)`. */
const isAccepted = (licence) =>
  licence
    .replaceAll(/[()]/g, '')
    .split(/\s+OR\s+/)
    .some((one) => one.split(/\s+AND\s+/).every((part) => ACCEPTED.has(part.trim())));

const licenceIn = (manifest) => {
  const { license, licenses } = manifest;
  if (typeof license === 'string') return license;
  if (typeof license?.type === 'string') return license.type;
  return Array.isArray(licenses) ? licenses.map(({ type }) => type).join(' OR ') : 'none';
};

const productionPackages = () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages).flatMap(([path, { dev, devOptional, link, version, license }]) => {
    if (!path.includes('node_modules/') || dev || devOptional || link) return [];
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const manifest = join(root, path, 'package.json');
    // Programs for other platforms are not installed here; their licence is in the lock file.
    const licence = existsSync(manifest) ? licenceIn(JSON.parse(readFileSync(manifest, 'utf8'))) : (license ?? 'none');
    return [{ name, version, licence }];
  });
};

const checkLicences = () => {
  const packages = productionPackages();
  const byLicence = Object.groupBy
    ? Object.groupBy(packages, ({ licence }) => licence)
    : packages.reduce((all, one) => ({ ...all, [one.licence]: [...(all[one.licence] ?? []), one] }), {});
  for (const [licence, of] of Object.entries(byLicence).sort(([a], [b]) => (a < b ? -1 : 1)))
    process.stdout.write(`${licence}: ${[...new Set(of.map(({ name }) => name))].sort().join(', ')}\n`);
  const refused = packages.filter(({ licence }) => !isAccepted(licence));
  for (const { name, version, licence } of refused)
    process.stdout.write(`NOT ACCEPTED: ${name} ${version} has the licence ${licence}\n`);
  process.stdout.write(`licences of ${packages.length} packages: ${refused.length === 0 ? 'ok' : 'failed'}\n`);
  return refused.length === 0;
};

const checkVulnerabilities = () => {
  const { stdout } = spawnSync('npm', ['audit', '--omit=dev', '--json'], { cwd: root, encoding: 'utf8' });
  let report;
  try {
    report = JSON.parse(stdout);
  } catch {
    report = { message: stdout.slice(0, 200) };
  }
  const found = report.metadata?.vulnerabilities;
  if (found === undefined) {
    const reason = (report.message ?? report.error?.summary ?? 'no answer').replaceAll(
      /https?:\/\/\S+/g,
      'the registry',
    );
    process.stdout.write(`!!! NOT CHECKED for known vulnerabilities: npm audit got no report (${reason})\n`);
    return true;
  }
  const severe = found.high + found.critical;
  process.stdout.write(`known vulnerabilities: ${JSON.stringify(found)}: ${severe === 0 ? 'ok' : 'failed'}\n`);
  return severe === 0;
};

const ok = [checkLicences(), checkVulnerabilities()].every(Boolean);
process.exit(ok ? 0 : 1);
