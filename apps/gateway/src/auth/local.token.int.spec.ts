import type { CreatedTokenView, TokenList } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startTestGateway, type TestGateway } from '../gateway.fixtures.js';
import { newToken } from '@fairlead/embedded/credentials';

let gateway: TestGateway;
let second: CreatedTokenView;

beforeAll(async () => {
  gateway = await startTestGateway();
  const roles = [{ namespace: '*', role: 'admin' }];
  second = (await gateway.ask<CreatedTokenView>('POST', '/tokens', { body: { name: 'second', roles } })).body;
}, 60_000);

afterAll(async () => {
  await gateway?.stop();
});

const file = (): string => join(gateway.folder, 'local.token');
const inFile = (): string => readFileSync(file(), 'utf8').trim();
const idIn = (token: string): string => token.split('_')[1] ?? '';
const opens = async (token: string): Promise<boolean> =>
  (await gateway.ask('GET', '/tokens', { token })).status === 200;

describe('the local administrator token', () => {
  it('is replaced at the next start when it was revoked, by one of several replicas', async () => {
    const before = inFile();
    const revoked = await gateway.ask('DELETE', `/tokens/${idIn(before)}`, { token: second.token });
    expect([revoked.status, await opens(before)]).toEqual([200, false]);
    await Promise.all([gateway.startReplica(), gateway.startReplica()]);
    const after = inFile();
    expect([await opens(before), await opens(after)]).toEqual([false, true]);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    const { body } = await gateway.ask<TokenList>('GET', '/tokens', { token: second.token });
    expect(body.items.filter(({ name }) => name === 'local').map(({ id }) => id)).toEqual([idIn(after)]);
    const onRecord = (await gateway.log()).filter(({ type }) => type === 'ApiTokenCreated');
    expect(onRecord.map(({ data }) => 'id' in data && data.id)).toContain(idIn(after));
  });

  it('is let in when the database does not know it: whoever writes the file owns the instance', async () => {
    const { token } = newToken();
    writeFileSync(file(), `${token}\n`);
    await gateway.startReplica();
    expect([inFile(), await opens(token)]).toEqual([token, true]);
  });

  it('is made when a full disk left the file empty', async () => {
    writeFileSync(file(), '');
    await gateway.startReplica();
    expect(await opens(inFile())).toBe(true);
  });

  it('is no reason to overwrite a file that holds something else', async () => {
    writeFileSync(file(), 'a letter\n');
    await expect(gateway.startReplica()).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('holds no Fairlead token; remove it'),
    });
    expect(inFile()).toBe('a letter');
  });
});
