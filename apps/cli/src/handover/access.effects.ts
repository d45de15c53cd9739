import { startEnvironment, takeLock } from '@fairlead/embedded';
import { join } from 'node:path';
import { CliFailure } from '../failures.js';
import { connectAsAdministrator, natsIn, type NatsSettings } from '../instance/administrator.effects.js';
import { provideStreams } from '../up/streams.effects.js';
import { installationAt, type InstallationOptions } from './installation.store.js';
import type { Installation } from './handover.ports.js';

/** Runs `work` on the installation of a data folder, under a lock. Starts NATS for the duration if it does not run. */
export const onInstallation = async <Result>(
  settings: NatsSettings,
  env: NodeJS.ProcessEnv,
  work: (installation: Installation) => Promise<Result>,
): Promise<Result> => {
  const { dataDir } = settings;
  const isRunning = natsIn(settings) !== undefined;
  const environment = isRunning ? undefined : await startEnvironment({ dataDir, env });
  try {
    const { url, caFile } = environment?.nats ?? {};
    const nats = url === undefined ? settings : { dataDir, nats: url, natsCa: caFile };
    if (environment !== undefined) await provideStreams(environment.nats, dataDir);
    return await alone(dataDir, () => connected(nats, environment === undefined ? {} : { silentMs: 0 }, work));
  } finally {
    await environment?.stop();
  }
};

const connected = async <Result>(
  settings: NatsSettings,
  options: Pick<InstallationOptions, 'silentMs'>,
  work: (installation: Installation) => Promise<Result>,
): Promise<Result> => {
  const nc = await connectAsAdministrator(settings);
  try {
    return await work(installationAt(nc, { dataDir: settings.dataDir, ...options }));
  } finally {
    await nc.close();
  }
};

const alone = async <Result>(dataDir: string, work: () => Promise<Result>): Promise<Result> => {
  const lock = takeLock(join(dataDir, 'keys', 'handover.lock'));
  if (lock.status === 'held')
    throw new CliFailure('conflict', {
      code: 'cli.handover-under-way',
      message: `Process ${lock.holder.pid} is already working on a handover of this data folder`,
      help: 'Wait until it has ended.',
    });
  try {
    return await work();
  } finally {
    lock.release();
  }
};
