import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { EnvironmentFault } from '../faults.js';
import { makeFolder, SECRET_MODE } from '../folder/files.js';
import { lastWordsOf, runCommand } from '../process/command.js';
import { resolvePostgres } from '../postgres/postgres.resolver.js';
import { startEnvironment } from './environment.js';
import { throwawayFolder } from './throwaway-folder.js';

const TAR_TIMEOUT_MS = 30_000;
/**
 * The parts of a data folder that are the same for every test: an empty server with the services' databases, and all
 * keys.
 */
const PARTS = ['postgres', 'keys', 'creds'] as const;

interface TemplateOptions {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly log: (sentence: string) => void;
}

/**
 * Fills a new data folder from a cached template, which is created at first use, because `initdb` and four databases
 * take a second and unpacking a tenth of it. Only for throwaway folders: all of them share the template's keys and
 * passwords.
 */
export const fillFromTemplate = async ({ dataDir, cacheDir, env, log }: TemplateOptions): Promise<void> => {
  const { major, source } = await resolvePostgres({ cacheDir, log });
  const template = join(
    cacheDir,
    `test-template-1-postgres-${source}-${major}-uid-${process.getuid?.() ?? 'none'}.tar`,
  );
  if (!existsSync(template)) await makeTemplate(template, env, log);
  await tar(['-xf', template, '-C', dataDir], template); // As root, tar preserves the owners.
};

const makeTemplate = async (
  template: string,
  env: NodeJS.ProcessEnv,
  log: (sentence: string) => void,
): Promise<void> => {
  log('preparing the template of test environments');
  const dataDir = throwawayFolder();
  const temporary = `${template}.${randomUUID()}`;
  try {
    const environment = await startEnvironment({ dataDir, env, durable: false, log });
    await environment.stop();
    makeFolder(dirname(template));
    await tar(['-cf', temporary, '-C', dataDir, ...PARTS], template);
    chmodSync(temporary, SECRET_MODE);
    renameSync(temporary, template);
  } finally {
    rmSync(temporary, { force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
};

const tar = async (args: readonly string[], template: string): Promise<void> => {
  const result = await runCommand('tar', args, { timeoutMs: TAR_TIMEOUT_MS });
  if (result.code === 0) return;
  throw new EnvironmentFault('command-failed', {
    operation: 'pack or unpack the test template',
    target: template,
    message: `tar failed on ${template}: ${lastWordsOf(result)}. Remove that file, and it is made again.`,
  });
};
