import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { givenEnvironment } from './given.environment.js';

describe('the variables of a service', () => {
  it('are those of its process; standard input is not read', async () => {
    const input = new PassThrough();
    expect(await givenEnvironment({ PORT: '1' }, input)).toEqual({ PORT: '1' });
    expect(input.readableFlowing).toBeNull();
  });

  it('are completed by a line of standard input if requested, however late it arrives', async () => {
    const input = new PassThrough();
    const given = givenEnvironment({ FAIRLEAD_ENV: 'stdin', PORT: '1', HOST: 'here' }, input);
    for (const piece of ['{"PORT":"2",', '"NATS_URL":"nats://x"}', '\n']) input.write(piece);
    expect(await given).toMatchObject({ PORT: '2', HOST: 'here', NATS_URL: 'nats://x' });
  });

  it('are rejected if standard input ends without them', async () => {
    const input = new PassThrough();
    const given = givenEnvironment({ FAIRLEAD_ENV: 'stdin' }, input);
    input.end();
    await expect(given).rejects.toThrow('FAIRLEAD_ENV: standard input ended without a line of variables');
  });
});
