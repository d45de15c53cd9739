import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { EVENTS, isEventType } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { lift } from './upcast.js';

const SAMPLES = fileURLToPath(new URL('../../contracts/src/events/samples/', import.meta.url));
const samples = readdirSync(SAMPLES).map((file) => file.replace('.json', ''));

/** Samples are never changed: old logs contain them. */
describe('events of every version that was ever released', () => {
  it('have one sample each', () => {
    const expected = Object.entries(EVENTS).flatMap(([type, { version }]) =>
      Array.from({ length: version }, (_, index) => `${type}.v${index + 1}`),
    );
    expect(samples.toSorted()).toEqual(expected.toSorted());
  });

  it.each(samples)('%s can still be read', (versioned) => {
    const data = JSON.parse(readFileSync(`${SAMPLES}${versioned}.json`, 'utf8')) as Record<string, unknown>;
    const lifted = lift(versioned, data);
    expect(
      lifted !== undefined && isEventType(lifted.type) && EVENTS[lifted.type].data.safeParse(lifted.data).success,
    ).toBe(true);
  });

  it('contain no secret: no field of any event is named like one', () => {
    const suspicious = samples.filter((versioned) =>
      /"[^"]*(token|password|privateKey|passphrase|kubeconfig|credential)[^"]*"\s*:/i.test(
        readFileSync(`${SAMPLES}${versioned}.json`, 'utf8').replaceAll('kubeconfigRef', ''),
      ),
    );
    expect(suspicious).toEqual([]);
  });
});
