import { ExternalFailure } from '@fairlead/contracts';
import { parseJson, parseYaml } from '@fairlead/parsers';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import * as z from 'zod';
import { withoutSealed } from '../../releases/releases.values.js';
import type { DesiredRelease, ReleaseAt, ReleaseEngine, ReleaseStatus } from '../../releases/releases.ports.js';

const MEBIBYTE = 1_048_576;
/** Releases are Secrets of at most 1 MiB, compressed. */
const OUTPUT_BYTES_MAX = 32 * MEBIBYTE;
const OUTPUT_VALUES_MAX = 500_000;
const READ_LIMIT_MS = 60_000;
/** Including hooks and the wait for pods. */
const CHANGE_LIMIT_MS = 8 * 60_000;
const WAIT_LIMIT = '5m';
const HISTORY_MAX = 10;
/** Limit of mapped memory, most of it unused: the Go runtime reserves it. */
const ADDRESS_SPACE_KIB = 4 * 1024 * 1024;
const HEAP_LIMIT = '512MiB';
const WORDS_LENGTH_MAX = 2_000;

/** The child of a killed service must not run in parallel with the next instance. */
const START = 'ulimit -v "$1"; shift; exec setpriv --pdeathsig KILL -- "$@"';

const Status = z.object({ version: z.int().min(1), info: z.object({ status: z.string().max(40) }) });
const History = z.array(z.object({ revision: z.int().min(1), status: z.string().max(40) }));

/** Output of Helm and of charts is untrusted. */
const safe = (words: string): string =>
  words
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .trim()
    .slice(-WORDS_LENGTH_MAX);

const isMissing = (stderr: string): boolean => /release: not found/u.test(stderr);

interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Call {
  readonly at: ReleaseAt;
  readonly folder: string;
  readonly limitMs: number;
  readonly signal: AbortSignal;
  readonly sealed?: readonly string[];
}

/**
 * Runs the helm program with a separate folder per command: without plugins, repositories, or the environment of this
 * process.
 */
export class HelmProgram implements ReleaseEngine {
  constructor(private readonly program: string | undefined) {}

  status(at: ReleaseAt, signal: AbortSignal): Promise<ReleaseStatus | undefined> {
    return this.within(at, READ_LIMIT_MS, signal, async (call) => {
      const { code, stdout, stderr } = await this.run(call, ['status', at.name, '-o', 'json']);
      if (code !== 0 && isMissing(stderr)) return undefined;
      const { version: revision, info } = Status.parse(this.json(call, 'status', { code, stdout, stderr }));
      return { revision, status: info.status };
    });
  }

  drift(at: ReleaseAt, _manifests: unknown, signal: AbortSignal): Promise<readonly string[]> {
    return this.within(at, READ_LIMIT_MS, signal, async (call) => {
      const objects = await objectsIn(await this.must(call, ['get', 'manifest', at.name]));
      return at.api.differences(await at.api.placed(objects, at.namespace));
    });
  }

  /**
   * A chart with random values renders differently each time, and is therefore upgraded on every change of its
   * declaration.
   */
  differs(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<boolean> {
    return this.within(at, READ_LIMIT_MS, signal, async (opened) => {
      const call = { ...opened, sealed: desired.sealed };
      const deployed = await this.must(call, ['get', 'manifest', at.name]);
      const chart = await writeChart(call.folder, desired);
      const args = ['upgrade', at.name, chart, '--dry-run=server', '-o', 'json', ...valuesIn(call.folder)];
      const { manifest } = z.object({ manifest: z.string() }).parse(helmJson(await this.must(call, args)));
      return manifest.trim() !== deployed.trim();
    });
  }

  deploy(at: ReleaseAt, desired: DesiredRelease, signal: AbortSignal): Promise<void> {
    return this.within(at, CHANGE_LIMIT_MS, signal, async (opened) => {
      const call = { ...opened, sealed: desired.sealed };
      const chart = await writeChart(call.folder, desired);
      const waits = desired.waits ? ['--wait', '--timeout', WAIT_LIMIT] : [];
      const options = ['--install', '--create-namespace', '--history-max', `${HISTORY_MAX}`, ...waits];
      await this.must(call, ['upgrade', at.name, chart, ...options, ...valuesIn(call.folder)]);
    });
  }

  recover(at: ReleaseAt, signal: AbortSignal): Promise<void> {
    return this.within(at, CHANGE_LIMIT_MS, signal, async (call) => {
      const history = History.parse(helmJson(await this.must(call, ['history', at.name, '-o', 'json'])));
      const last = history.findLast(({ status }) => status === 'deployed' || status === 'superseded');
      if (last === undefined) await this.must(call, ['uninstall', at.name, '--ignore-not-found']);
      else await this.must(call, ['rollback', at.name, `${last.revision}`, '--history-max', `${HISTORY_MAX}`]);
    });
  }

  uninstall(at: ReleaseAt, signal: AbortSignal): Promise<void> {
    return this.within(at, CHANGE_LIMIT_MS, signal, async (call) => {
      await this.must(call, ['uninstall', at.name, '--ignore-not-found', '--wait', '--timeout', WAIT_LIMIT]);
    });
  }

  private async must(call: Call, args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(call, args);
    if (code === 0) return stdout;
    throw failed(args[0] ?? '', call.at.name, withoutSealed(stderr, call.sealed ?? []));
  }

  private json({ at }: Call, operation: string, { code, stdout, stderr }: Output): unknown {
    if (code !== 0) throw failed(operation, at.name, stderr);
    return helmJson(stdout);
  }

  private async within<Result>(
    at: ReleaseAt,
    limitMs: number,
    signal: AbortSignal,
    work: (call: Call) => Promise<Result>,
  ): Promise<Result> {
    const folder = await mkdtemp(join(tmpdir(), 'fairlead-helm-'));
    try {
      await writeFile(join(folder, 'kubeconfig'), at.kubeconfig, { mode: 0o600 });
      return await work({ at, folder, limitMs, signal });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  private run({ at, folder, limitMs, signal }: Call, args: readonly string[]): Promise<Output> {
    const { program } = this;
    if (program === undefined)
      throw failed(args[0] ?? '', at.name, 'this installation has no helm program; set HELM_PROGRAM of bootstrap-svc');
    const env = {
      HOME: folder,
      PATH: '/usr/bin:/bin',
      KUBECONFIG: join(folder, 'kubeconfig'),
      HELM_NAMESPACE: at.namespace,
      HELM_PLUGINS: join(folder, 'no-plugins'),
      GOMEMLIMIT: HEAP_LIMIT,
      TMPDIR: folder,
    };
    const options = { env, cwd: folder, timeout: limitMs, maxBuffer: OUTPUT_BYTES_MAX, signal, killSignal: 'SIGKILL' };
    return new Promise((resolve, reject) => {
      const given = ['-c', START, 'helm', `${ADDRESS_SPACE_KIB}`, program, ...args];
      execFile('/bin/sh', given, options as never, (error, out, err) => {
        const [stdout, stderr] = [String(out), String(err)];
        if (error === null) return resolve({ code: 0, stdout, stderr });
        if (signal.aborted) return reject(signal.reason as Error);
        const { code, killed } = error as { code?: unknown; killed?: boolean };
        if (killed === true) return resolve({ code: 1, stdout, stderr: `no result within ${limitMs / 1_000} s` });
        return resolve({ code: typeof code === 'number' ? code : 1, stdout, stderr: stderr || error.message });
      });
    });
  }
}

/** What helm prints with `-o json`. */
export const helmJson = (text: string): unknown =>
  parseJson(text, { lengthMax: OUTPUT_BYTES_MAX, valuesMax: OUTPUT_VALUES_MAX });

const failed = (operation: string, target: string, stderr: string): ExternalFailure =>
  new ExternalFailure({ operation: `helm ${operation}`, target, message: safe(stderr) || 'it failed without a word' });

const valuesIn = (folder: string): readonly string[] => ['-f', join(folder, 'values.json')];

/** JSON is YAML. */
const writeChart = async (folder: string, { source, values }: DesiredRelease): Promise<string> => {
  if (source.kind !== 'archive') throw new Error('objects without a chart are applied, and not by Helm');
  await writeFile(join(folder, 'values.json'), JSON.stringify(values), { mode: 0o600 });
  const archive = join(folder, 'chart.tgz');
  await writeFile(archive, source.bytes, { mode: 0o600 });
  return archive;
};

const MANIFEST_LENGTH_MAX = 4 * MEBIBYTE;
const Metadata = z.looseObject({ name: z.string().min(1), namespace: z.string().exactOptional() });
const ObjectOfChart = z.looseObject({ apiVersion: z.string().min(1), kind: z.string().min(1), metadata: Metadata });
type ObjectOfChart = z.infer<typeof ObjectOfChart>;

/**
 * Parses one document at a time and yields in between, because a chart may have megabytes. Skips documents without a
 * named object.
 */
export const objectsIn = async (manifest: string): Promise<readonly ObjectOfChart[]> => {
  const objects: ObjectOfChart[] = [];
  for (const document of manifest.slice(0, MANIFEST_LENGTH_MAX).split(/^---\s*$/mu)) {
    if (document.trim() === '') continue;
    const object = ObjectOfChart.safeParse(parseYaml(document, { lengthMax: MANIFEST_LENGTH_MAX }));
    if (object.success) objects.push(object.data);
    await turn();
  }
  return objects;
};
