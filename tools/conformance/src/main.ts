import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { mirrorPaths, parseCatalogue, releaseIn } from '@fairlead/contracts';
import { localMirror, readTar, bytesOfFile, writeWhole } from '@fairlead/mirror';
import { casesIn, focusOn, planOf, type Case } from './cases.js';
import { Cluster, ClusterFailure } from './cluster.js';
import { reportText, resultsOf } from './results.js';

const HELP = `Runs the node and network cases of Kubernetes' own conformance tests against a cluster, and writes down what became of each.

  npm run conformance -- --kubeconfig <file> [options]

  --mirror <folder>         a mirror made with "npm run kubernetes:build -- --conformance <version>"; else the cache's
  --hosts-mirror <folder>   where hosts have that mirror, e.g. /opt/fairlead/mirror: the test images are imported from there;
                            absent: they are on the hosts already
  --procs <n>               cases side by side (4)
  --timeout <time>          ends each of the two rounds (side by side, then alone) after this; what was not run is said (2h)
  --focus <text>            only cases whose name contains it; the report then goes to standard output unless --report is given
  --list                    says what would run and what is left out, and ends
  --report <file>           where to write the result (docs/reports/conformance.md)
`;

const exec = promisify(execFile);
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const PROCS = 4;
/** ginkgo's default is one hour. 130 tests take a fraction of that, but a loaded machine may need longer. */
const TIMEOUT = '2h';

class Refusal extends Error {}
const say = (text: string): void => void process.stderr.write(`${text}\n`);

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    options: {
      kubeconfig: { type: 'string' },
      mirror: { type: 'string' },
      'hosts-mirror': { type: 'string' },
      procs: { type: 'string' },
      timeout: { type: 'string' },
      focus: { type: 'string' },
      list: { type: 'boolean' },
      report: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  }).values;

const main = async (args: readonly string[]): Promise<void> => {
  const options = parse(args);
  if (options.help === true) return void process.stdout.write(HELP);
  if (options.kubeconfig === undefined) throw new Refusal('--kubeconfig says which cluster; --help says the rest.');
  const mirror = resolve(options.mirror ?? localMirror(process.env));
  const kubeconfig = resolve(options.kubeconfig);
  const { cluster, version, files } = await toolsFor(mirror, kubeconfig);
  const plan = planOf(await listCases(files('e2e.test'), options.focus));
  const count = plan.parallel.length + plan.serial.length;
  say(`Kubernetes ${version}: ${count} cases, ${plan.leftOut.length} left out for want of an image`);
  if (options.list === true) return listPlan(plan);
  const hosts = options['hosts-mirror'];
  await cluster.ensureImages(
    await testImages(mirror, version),
    hosts === undefined ? undefined : `${hosts}/conformance/${version}`,
  );
  const begunAt = Date.now();
  const run = { files, kubeconfig, procs: Number(options.procs ?? PROCS), timeout: options.timeout ?? TIMEOUT };
  const reports = [...(await runCases(plan.parallel, run)), ...(await runCases(plan.serial, { ...run, procs: 1 }))];
  const results = resultsOf([...plan.parallel, ...plan.serial], reports);
  const subject = {
    version,
    nodes: await cluster.nodes(),
    date: new Date(begunAt).toISOString().slice(0, 10),
    minutes: Math.round((Date.now() - begunAt) / 60_000),
  };
  const text = reportText(subject, results, plan);
  const file = options.report ?? (options.focus === undefined ? 'docs/reports/conformance.md' : undefined);
  if (file === undefined) process.stdout.write(text);
  else await writeWhole(resolve(file), text);
  const passed = results.filter(({ outcome }) => outcome === 'passed').length;
  say(`${passed} of ${results.length} passed${file === undefined ? '' : `; ${file} has the list`}`);
  if (results.some(({ outcome }) => outcome === 'failed' || outcome === 'not run')) process.exitCode = 1;
};

/** The tests must be of the cluster's own version. */
const toolsFor = async (mirror: string, kubeconfig: string) => {
  const catalogue = parseCatalogue(await readFile(join(mirror, mirrorPaths.catalogue), 'utf8'), mirror);
  const [newest] = catalogue.releases.slice(-1);
  if (newest === undefined) throw new Refusal(`${mirror} has no Kubernetes.`);
  const kubectl = join(mirror, mirrorPaths.binary(newest.version, 'kubectl'));
  const cluster = new Cluster(kubectl, kubeconfig);
  const version = await cluster.version();
  if ((releaseIn(catalogue, version)?.conformance.length ?? 0) === 0)
    throw new Refusal(
      `${mirror} has no tests of ${version}: "npm run kubernetes:build -- --conformance ${version}" makes them.`,
    );
  return { cluster, version, files: (name: string) => join(mirror, mirrorPaths.conformance(version, name)) };
};

const listCases = async (e2e: string, focus: string | undefined): Promise<readonly Case[]> => {
  const { stdout } = await exec(e2e, ['--list-conformance-tests'], { maxBuffer: OUTPUT_BYTES_MAX });
  const cases = casesIn(stdout);
  return focus === undefined ? cases : cases.filter(({ name }) => name.includes(focus));
};

const listPlan = ({ parallel, serial, leftOut }: ReturnType<typeof planOf>): void => {
  for (const { name } of [...parallel, ...serial]) process.stdout.write(`runs      ${name}\n`);
  for (const { case: each, reason } of leftOut) process.stdout.write(`left out  ${each.name} (${reason})\n`);
};

/** The tags in the image archives that the mirror has for these tests. */
const testImages = async (mirror: string, version: string): Promise<readonly string[]> => {
  const tags: string[] = [];
  for (const name of ['agnhost', 'busybox', 'nonewprivs']) {
    const file = join(mirror, mirrorPaths.conformance(version, `${name}.tar`));
    for await (const { entry, content } of readTar(bytesOfFile(file))) {
      if (entry.path !== 'manifest.json') continue;
      const parts: Buffer[] = [];
      for await (const part of content) parts.push(Buffer.from(part));
      tags.push(
        ...(JSON.parse(Buffer.concat(parts).toString()) as { RepoTags: string[] }[]).flatMap(
          ({ RepoTags }) => RepoTags,
        ),
      );
    }
  }
  return tags;
};

interface Run {
  readonly files: (name: string) => string;
  readonly kubeconfig: string;
  readonly procs: number;
  /** A Go duration: 90m. */
  readonly timeout: string;
}

/** Runs the tests and returns ginkgo's report, even if some tests failed. */
const runCases = async (
  cases: readonly Case[],
  { files, kubeconfig, procs, timeout }: Run,
): Promise<readonly string[]> => {
  if (cases.length === 0) return [];
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-conformance-'));
  const ginkgo = [
    'run',
    `--procs=${procs}`,
    `--timeout=${timeout}`,
    '--no-color',
    '--silence-skips',
    `--focus=${focusOn(cases)}`,
  ];
  const output = [`--output-dir=${folder}`, '--json-report=report.json', files('e2e.test')];
  const tests = [
    '--',
    `--kubeconfig=${kubeconfig}`,
    '--provider=skeleton',
    '--disable-log-dump',
    '--dump-logs-on-failure=false',
  ];
  try {
    const status = await watch(files('ginkgo'), [...ginkgo, ...output, ...tests], folder);
    if (status !== 0) say(`ginkgo ended with exit code ${status}`);
    return [await readFile(join(folder, 'report.json'), 'utf8')];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const watch = (program: string, args: readonly string[], cwd: string): Promise<number | null> =>
  new Promise((done, fail) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', fail);
    child.on('close', done);
  });

main(process.argv.slice(2)).catch((error: unknown) => {
  say(
    `conformance: ${error instanceof Refusal || error instanceof ClusterFailure ? error.message : error instanceof Error ? error.stack : String(error)}`,
  );
  process.exitCode = 1;
});
