import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from '@fairlead/testing';
import { expect, it } from '@jest/globals';
import { removeEnvFile, writeEnvFile } from './env-file.store.js';

const plan = (env: Readonly<Record<string, string>>) => ({
  name: 'infra-svc' as const,
  main: '',
  bundle: '',
  args: [],
  env,
  niceness: 0,
  runtime: {},
});

it('Node.js reads the environment of a service that was left out as it was written, whatever quotes are in it', () => {
  const dataDir = newFolder('env-file');
  const env = {
    DATABASE_URL: 'postgres://u:p%23@127.0.0.1:5432/db#x',
    NATS_CREDS: `/it's/\\n a $HOME/"x".creds`,
    PORT: '0',
  };
  writeEnvFile(dataDir, 'infra-svc', plan(env));
  const file = join(dataDir, 'keys', 'infra-svc.env');
  const read = execFileSync(process.execPath, [`--env-file=${file}`, '-p', 'JSON.stringify(process.env)'], {
    env: {},
    encoding: 'utf8',
  });
  expect(JSON.parse(read)).toMatchObject({ ...env, LOG_FORMAT: 'pretty' });
});

it('Only the owner can read that file, and it goes with the instance', () => {
  const dataDir = newFolder('env-file');
  writeEnvFile(dataDir, 'infra-svc', plan({ PORT: '0' }));
  const file = join(dataDir, 'keys', 'infra-svc.env');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  removeEnvFile(dataDir, 'infra-svc');
  expect(existsSync(file)).toBe(false);
  expect(readdirSync(join(dataDir, 'keys'))).toEqual([]);
});
