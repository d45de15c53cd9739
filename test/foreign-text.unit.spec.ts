import { promiseBrokenBy } from '@fairlead/testing/processor.time';
import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { OWN_DATA } from '../tools/lint/foreign.text.mjs';
import { ELSEWHERE } from './foreign-text/elsewhere.js';
import { ENTRANCES } from './foreign-text/entrances.js';
import { root, sources, textIn } from './foreign-text/sources.js';

/** Functions that parse a format, including the bounded ones. */
const PARSERS = new RegExp(
  [
    /\bJSON\.parse\(/,
    /\bparse(?:Json|JsonOrUndefined|Yaml|YamlDocuments|PlacedYaml|InWorker)\(/,
    /new X509Certificate\(|createGunzip\(|createInflate\(|createBrotliDecompress\(|\bgunzip(?:Sync)?\(|\bextract\(\)/,
    /new Cron\(|\bvalidRange\(|\bsatisfies\(|\bcoerce\(/,
    /\bparseKey\(|\bfromBER\(|useBodyParser\(|\breadTar\(|\bcreateParser\(|\bXMLParser\(/,
    /\b(?:decodeJwt|decodeProtectedHeader|jwtVerify|decodeMessage)\(/,
    // Of protocol buffers; text is decoded in linear time.
    /(?<!TextDecoder\([^)]{0,40}\)|utf8|decoder)\.decode\(/,
    // Literals are tried one by one, wherever they stand.
    /\bnew RegExp\((?!')/,
    /import \{[^}]*\bparse[^}]*\} from 'yaml'/,
  ]
    .map(({ source }) => source)
    .join('|'),
);

const isListed = (file: string, places: readonly string[]): boolean =>
  places.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place));

const PLACES = [...ENTRANCES.map(({ file }) => file), ...Object.keys(ELSEWHERE), ...Object.keys(OWN_DATA)];

/** Nine minutes with 1 MiB, which CI feeds. Work that is far from linear shows at an eighth of it, too. */
const FED_MAX = Number(process.env['FAIRLEAD_TEXT_BYTES'] ?? 131_072);

/** A refusal is a result, too. */
const quietly = async (work: () => unknown): Promise<void> => {
  try {
    await work();
  } catch {
    // Only its duration counts.
  }
};

describe('untrusted text', () => {
  it('enters only where a table lists it', () => {
    const parsing = sources.filter((file) => PARSERS.test(textIn(file)));
    expect(parsing.filter((file) => !isListed(file, PLACES))).toEqual([]);
    expect(parsing.length).toBeGreaterThan(100);
  });

  it('that is not fed is shown bounded by another spec, or is not foreign', () => {
    const shown = Object.values(ELSEWHERE).flatMap(({ shownBy }) => (shownBy === undefined ? [] : [shownBy]));
    const gone = shown.filter(([file, title]) => !existsSync(`${root}${file}`) || !textIn(file).includes(title));
    expect(gone).toEqual([]);
  });

  it('is listed with existing files', () => {
    const gone = PLACES.filter((place) => !sources.some((file) => isListed(file, [place])));
    expect(gone).toEqual([]);
  });

  it.each(ENTRANCES.map((entrance) => [`${entrance.what} (${entrance.file})`, entrance] as const))(
    'takes at most 200 ms per MiB without a pause: %s',
    async (_name, { shapes, lengthMax, feed }) => {
      const broken: string[] = [];
      for (const [shape, textOf] of Object.entries(shapes)) {
        const text = textOf(Math.min(lengthMax, FED_MAX));
        const by = await promiseBrokenBy(text.length, () => quietly(() => feed(text)));
        if (by !== undefined) broken.push(`${shape}: ${by}`);
      }
      expect(broken).toEqual([]);
    },
  );

  it('that is refused for its length takes no time', async () => {
    const longer = ENTRANCES.filter(({ file }) => file !== 'apps/gateway/src/http/body.ts').filter(
      ({ lengthMax }) => lengthMax < 5 * 1_048_576,
    );
    const slow: string[] = [];
    for (const { what, shapes, lengthMax, feed } of longer) {
      const [shape = '', textOf = () => ''] = Object.entries(shapes)[0] ?? [];
      const text = textOf(2 * lengthMax);
      const by = await promiseBrokenBy(text.length, () => quietly(() => feed(text)));
      if (by !== undefined) slow.push(`${what}, ${shape}: ${by}`);
    }
    expect(slow).toEqual([]);
  });
});
