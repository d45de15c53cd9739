import { freePorts, LOOPBACK, Supervisor } from '@fairlead/embedded';
import { cacheFolder } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const START_MS = 60_000;

/** moto simulates the services of AWS; https://github.com/getmoto/moto. */
export interface Moto {
  readonly program: string;
}

/** Where it was installed before. */
export const installedMoto = (): Moto | { readonly reason: string } => {
  const folder = join(cacheFolder(process.env), 'moto');
  return existsSync(join(folder, 'installed'))
    ? { program: join(folder, 'bin', 'python') }
    : { reason: 'moto is not on this machine; "npm run moto:install" installs it' };
};

export interface RunningMoto {
  readonly url: string;
  stop(): Promise<void>;
}

/** An AWS of its own, empty, on the loopback address. */
export const startMoto = async ({ program }: Moto): Promise<RunningMoto> => {
  const folder = newFolder('moto');
  const supervisor = new Supervisor({ dataDir: folder, runName: 'moto' });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    removeFolder(folder);
  };
  try {
    const [port = 0] = await freePorts(folder, 1);
    await supervisor.start({
      name: 'moto',
      command: program,
      args: ['-m', 'moto.server', '--host', LOOPBACK, '--port', String(port)],
      env: { ...process.env, PYTHONUNBUFFERED: '1' },
      ready: (line) => line.includes('Running on'),
      readyTimeoutMs: START_MS,
    });
    return { url: `http://${LOOPBACK}:${port}`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};
