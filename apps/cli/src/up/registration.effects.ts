import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import { DEFAULT_NAMESPACE, LAB } from './up.settings.js';

const VERIFIED_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export interface LabAccess {
  readonly endpoint: string;
  readonly token: string;
  /** Resolves when it answers. */
  readonly ready: Promise<void>;
}

/** Makes sure that the instance has a namespace to begin with and knows its lab. Changes nothing that is as it should be. */
export const registerDefaults = async (api: Api, lab: LabAccess): Promise<void> => {
  await Promise.all([ensureNamespace(api, DEFAULT_NAMESPACE), ensureLab(api, lab)]);
};

const ensureNamespace = async (api: Api, name: string): Promise<void> => {
  if ((await api.namespaces()).some((namespace) => namespace.name === name)) return;
  await api.createNamespace(name, 'Made by fairlead up').catch(unless('namespace.exists'));
};

/** The lab's port may be another one after a restart, when somebody else has taken the old one. */
const ensureLab = async (api: Api, { endpoint, token, ready }: LabAccess): Promise<void> => {
  const known = (await api.connections()).find(({ name }) => name === LAB.connection);
  if (known?.settings['endpoint'] === endpoint) return;
  await ready; // It is asked what it offers as soon as it is registered.
  await api.putConnection(LAB.connection, {
    provider: 'lab',
    region: LAB.region,
    zone: LAB.zone,
    settings: { endpoint, token },
  });
};

const unless =
  (code: string) =>
  (error: unknown): void => {
    if (!(error instanceof CliFailure) || error.code !== code) throw error;
  };

/** Resolves when infra-svc has reached the lab; throws its words when it cannot. */
export const labVerified = async (api: Api, interrupted: AbortSignal): Promise<void> => {
  const deadline = performance.now() + VERIFIED_TIMEOUT_MS;
  for (;;) {
    const { verified, problem } = await api.connection(LAB.connection);
    if (verified !== null) return;
    if (performance.now() >= deadline) {
      throw new CliFailure('timed-out', {
        code: 'cli.lab-unverified',
        message: `The lab was not reached within ${VERIFIED_TIMEOUT_MS / 1_000} s${problem === '' ? '' : `: ${problem}`}`,
        help: 'See the logs of infra-svc and lab in the data folder.',
      });
    }
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};
