// Run by tools/e2e-real.mjs in its own network namespace: checks that this machine can boot hosts, and that a host can
// run containers. Finds restrictions that only a trial can show (mounts, cgroups, forbidden system calls) before a
// story fails because of them. Exits with 0, or with 1 and the error message; the host is removed in both cases.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExternalFailure } from '@fairlead/contracts';
import { cacheFolder, localMirror } from '@fairlead/mirror';
import { openLocal } from '@fairlead/nspawn';

const NETWORK = { name: 'trial', cidr: '198.18.66.0/24' };
const HOST = 'trial';
const MIRROR_AT = '/opt/fairlead/mirror';
const BOOT_TIMEOUT_MS = 90_000;
const COMMAND_TIMEOUT_MS = 60_000;
const CONTAINER = `set -e
for _ in $(seq 100); do ctr version >/dev/null 2>&1 && break; sleep 0.2; done
ctr images import ${MIRROR_AT}/images/busybox-1.tar >/dev/null
ctr run --rm localhost/busybox:1 trial busybox echo a container runs`;

/** Returns the output of a container that ran on a host. */
const tryIt = async (local) => {
  await local.networks.ensure(NETWORK.name, NETWORK.cidr);
  await local.hosts.ensure({
    name: HOST,
    network: NETWORK.name,
    authorizedKeys: [],
    cpus: null,
    memoryMiB: null,
    readOnly: { [MIRROR_AT]: localMirror(process.env) },
    labels: {},
  });
  await local.hosts.untilReachable(HOST, AbortSignal.timeout(BOOT_TIMEOUT_MS));
  const { code, stdout, stderr } = await local.hosts.execute(HOST, ['sh', '-c', CONTAINER], COMMAND_TIMEOUT_MS);
  if (code !== 0) throw new Error(`no container runs in a host: ${stderr.trim()}`);
  return stdout.trim();
};

const stateDir = mkdtempSync(join(tmpdir(), 'fairlead-trial-'));
try {
  const local = openLocal({ stateDir: join(stateDir, 'hosts'), cacheDir: cacheFolder(process.env) });
  try {
    process.stdout.write(`${await tryIt(local)}\n`);
  } finally {
    await local.clear();
  }
} catch (error) {
  const where = error instanceof ExternalFailure ? `${error.operation} on ${error.target}: ` : '';
  process.stderr.write(`${where}${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(stateDir, { recursive: true, force: true });
}
