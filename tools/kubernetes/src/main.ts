import { mkdir, statfs } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ensureSigningKey, localMirror, mirrorKeyFile, signMirror } from '@fairlead/mirror';
import type { MirrorCatalogue } from '@fairlead/contracts';
import { Builder } from './build.js';
import { writeCatalogue } from './catalogue.js';
import { DISTRIBUTIONS, distributionOfMachine, type Distribution } from './debian.js';
import { goVersion } from './go.js';
import { HELP, parseOptions, type Options } from './options.js';
import { Workshop } from './pieces.js';
import { Refusal } from './refusal.js';
import { duration, terminalWatch } from './terminal.js';

const GIB = 1024 ** 3;
/**
 * Measured for 1.34: 0.5 GiB for the mirror, the same while it is built, and the same again for temporary copies of
 * packages.
 */
const DISK_BYTES_PER_VERSION = 1.5 * GIB;

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const main = async (args: readonly string[]): Promise<void> => {
  const options = parseOptions(args);
  if (options.help) return void process.stdout.write(HELP);
  const mirror = resolve(options.out ?? localMirror(process.env));
  const work = `${mirror}-build`;
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () =>
      interrupted.abort(new Refusal('Stopped. What was finished stays; the same command goes on from there.')),
    );
  }
  const workshop = new Workshop(work, terminalWatch(process.stderr));
  await mkdir(mirror, { recursive: true });
  await workshop.open();
  try {
    await build(options, new Builder({ mirror, work, signal: interrupted.signal }, workshop), mirror);
  } catch (error) {
    throw interrupted.signal.aborted ? interrupted.signal.reason : error;
  } finally {
    await workshop.close();
  }
};

const build = async (options: Options, builder: Builder, mirror: string): Promise<void> => {
  const begunAt = Date.now();
  const machine = await distributionHere();
  const distributions = options.distributions ?? [machine];
  const missing: string[] = [];
  for (const release of options.releases) {
    if ((await builder.releaseFiles(release, machine)) === undefined) missing.push(release.version);
  }
  if (missing.length > 0) {
    await goVersion();
    await refuseFullDisk(mirror, missing.length);
  }
  for (const release of options.releases) {
    await builder.release(release, machine);
    await publish(mirror, builder, machine);
  }
  for (const distribution of distributions) await builder.packages(distribution);
  if (options.conformance) for (const { version } of options.releases) await builder.conformance(version, machine);
  const { releases, files } = await publish(mirror, builder, machine);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  say(
    `${mirror} has ${releases.map(({ version }) => version).join(', ')}: ${files.length} files, ${(size / GIB).toFixed(2)} GiB (${duration(Date.now() - begunAt)}).`,
  );
  const { publicKey } = await ensureSigningKey(mirrorKeyFile(process.env));
  say(`Its catalogue is signed by ${publicKey}, which connections name in signedBy.`);
};

/** Signs the catalogue with this machine's key, which the first build creates. */
const publish = async (mirror: string, builder: Builder, machine: Distribution): Promise<MirrorCatalogue> => {
  const { privateKey } = await ensureSigningKey(mirrorKeyFile(process.env));
  const catalogue = await writeCatalogue(mirror, builder, machine);
  await signMirror(mirror, privateKey);
  return catalogue;
};

/**
 * The source of the network tools of images, and the most likely distribution of hosts: the newest Debian, or the
 * Ubuntu of this machine.
 */
const distributionHere = async (): Promise<Distribution> => {
  const name = await distributionOfMachine();
  const [newest] = DISTRIBUTIONS;
  const own = DISTRIBUTIONS.find((each) => each.name === name);
  const chosen = name.startsWith('ubuntu-') ? own : newest;
  if (chosen !== undefined) return chosen;
  throw new Refusal(
    `${name} is not among the distributions that packages are taken from: ${DISTRIBUTIONS.map((each) => each.name).join(', ')}.`,
  );
};

const refuseFullDisk = async (folder: string, versions: number): Promise<void> => {
  const { bavail, bsize } = await statfs(folder);
  const needed = versions * DISK_BYTES_PER_VERSION;
  if (bavail * bsize >= needed) return;
  throw new Refusal(
    `${folder} has ${((bavail * bsize) / GIB).toFixed(1)} GiB free, and ${versions} versions need about ${(needed / GIB).toFixed(1)} GiB. Free some, or choose another place by --out.`,
  );
};

main(process.argv.slice(2)).catch((error: unknown) => {
  const isReported = error instanceof Refusal;
  say(`\nkubernetes:build: ${isReported ? error.message : error instanceof Error ? error.stack : String(error)}`);
  process.exitCode = isReported ? 1 : 70;
});
