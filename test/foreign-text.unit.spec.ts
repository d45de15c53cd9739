import { promiseBrokenBy } from '@fairlead/testing/processor.time';
import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OWN_DATA } from '../tools/lint/foreign.text.mjs';
import { ELSEWHERE, ENTRANCES } from './foreign-text/entrances.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Functions that parse a format, including the bounded ones. Regular expressions are not among them: lint refuses any
 * that can take more than linear time.
 */
const PARSERS =
  /\bJSON\.parse\(|\bparse(?:Json|JsonOrUndefined|Yaml|YamlDocuments|InWorker)\(|new X509Certificate\(|createGunzip\(|new Cron\(|\bvalidRange\(|\bsatisfies\(|\bparseKey\(|\bfromBER\(|useBodyParser\(|\b(?:decodeJwt|decodeProtectedHeader|jwtVerify|decodeMessage)\(|import \{[^}]*\bparse[^}]*\} from 'yaml'/;

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const at = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['dist', 'node_modules'].includes(entry.name) ? [] : sourcesIn(at);
    return /\.tsx?$/.test(at) && !/\.(spec|fixtures|features|d)\.tsx?$/.test(at) ? [at] : [];
  });

const sources = ['apps', 'libs'].flatMap((group) =>
  readdirSync(`${root}${group}`).flatMap((project) => sourcesIn(`${group}/${project}/src`)),
);

const isListed = (file: string, places: readonly string[]): boolean =>
  places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place));

/** Nine minutes with 1 MiB, which CI feeds. Work that is far from linear shows at an eighth of it, too. */
const FED_MAX = Number(process.env['FAIRLEAD_TEXT_BYTES'] ?? 131_072);

/** A refusal is a result, too. */
const quietly = (work: () => unknown): void => {
  try {
    work();
  } catch {
    // Only its duration counts.
  }
};

describe('untrusted text', () => {
  it('enters only where a table lists it', () => {
    const places = [...ENTRANCES.map(({ file }) => file), ...Object.keys(ELSEWHERE), ...Object.keys(OWN_DATA)];
    const parsing = sources.filter((file) => PARSERS.test(readFileSync(`${root}${file}`, 'utf8')));
    expect(parsing.filter((file) => !isListed(file, places))).toEqual([]);
    expect(parsing.length).toBeGreaterThan(60);
  });

  it('is listed with existing files', () => {
    const places = [...ENTRANCES.map(({ file }) => file), ...Object.keys(ELSEWHERE), ...Object.keys(OWN_DATA)];
    const gone = places.filter((place) => !sources.some((file) => isListed(file, [place])));
    expect(gone).toEqual([]);
  });

  it.each(ENTRANCES.map((entrance) => [`${entrance.what} (${entrance.file})`, entrance] as const))(
    'takes at most 200 ms per MiB without a pause: %s',
    (_name, { shapes, lengthMax, feed }) => {
      const broken = Object.entries(shapes).flatMap(([shape, textOf]) => {
        const text = textOf(Math.min(lengthMax, FED_MAX));
        const by = promiseBrokenBy(text.length, () => quietly(() => feed(text)));
        return by === undefined ? [] : [`${shape}: ${by}`];
      });
      expect(broken).toEqual([]);
    },
  );

  it('that is refused for its length takes no time', () => {
    const longer = ENTRANCES.filter(({ file }) => file !== 'apps/gateway/src/http/body.ts').filter(
      ({ lengthMax }) => lengthMax < 5 * 1_048_576,
    );
    const slow = longer.flatMap(({ what, shapes, lengthMax, feed }) => {
      const [shape = '', textOf = () => ''] = Object.entries(shapes)[0] ?? [];
      const text = textOf(2 * lengthMax);
      const by = promiseBrokenBy(text.length, () => quietly(() => feed(text)));
      return by === undefined ? [] : [`${what}, ${shape}: ${by}`];
    });
    expect(slow).toEqual([]);
  });
});
