import type { StoredEvent } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { describePublished, startPublished, type Published } from './system/published.js';

const TIMEOUT_MS = 240_000;
const LOST_WITHIN_MS = 120_000;

describePublished('an API whose tunnel stands still without a word (lab)', () => {
  let published: Published;

  const later = async (type: StoredEvent['type'], since: number): Promise<StoredEvent> =>
    published.system.until('demo', (event) => event.type === type && event.meta.seq > since, TIMEOUT_MS);

  beforeAll(async () => {
    published = await startPublished();
    await later('EndpointAvailable', 0);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await published?.system.stop();
  }, 60_000);

  it(
    'is unavailable within two minutes, and available again when it goes on [azimuth 17]',
    async () => {
      const { system } = published;
      const { file } = await published.kubeconfig();
      system.kill('tunnel', 'SIGSTOP');
      const stoppedAt = Date.now();
      const lost = await later('EndpointUnavailable', 0);
      expect(Date.now() - stoppedAt).toBeLessThan(LOST_WITHIN_MS);
      await expect(published.nodes(file)).rejects.toThrow();
      const { status } = await published.manifest();
      expect(status?.conditions.find(({ type }) => type === 'EndpointAvailable')).toMatchObject({
        status: 'False',
        reason: 'EndpointUnavailable',
      });
      system.kill('tunnel', 'SIGCONT');
      await later('EndpointAvailable', lost.meta.seq);
      await eventually(() =>
        published.nodes(file).then(
          (text) => text !== '',
          () => false,
        ),
      );
    },
    TIMEOUT_MS,
  );
});
