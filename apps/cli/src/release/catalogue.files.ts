import { isAbsolute, resolve } from 'node:path';
import {
  isRefusal,
  isUrl,
  parseReleaseCatalogue,
  RELEASE_CATALOGUE_LENGTH_MAX,
  signatureOf,
  ExternalFailure,
} from '@fairlead/contracts';
import { openSource } from '@fairlead/mirror';
import type { Schemas } from '@fairlead/api-client';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';

const NAME = 'releases.json';

/** The folder or URL of a catalogue, and its file name: a source that does not end with .json is a mirror. */
const placeOf = (source: string, { cwd }: Io): { readonly location: string; readonly name: string } => {
  const at = isUrl(source) || isAbsolute(source) ? source : resolve(cwd, source);
  const end = at.lastIndexOf('/');
  return at.endsWith('.json') ? { location: at.slice(0, end), name: at.slice(end + 1) } : { location: at, name: NAME };
};

const failure = (message: string, help?: string): CliFailure =>
  new CliFailure('failed', { code: 'cli.release-catalogue', message, help });

/** The catalogue and its signatures, unparsed. The server verifies them. */
export const readCatalogue = async (source: string, io: Io): Promise<Schemas['ReleaseCatalogueRequest']> => {
  const { location, name } = placeOf(source, io);
  const files = openSource(location, { signal: io.interrupts.first });
  const read = async (path: string): Promise<string> => {
    const text = await files.readText(path);
    if (text === undefined) throw failure(`${location} has no ${path}.`);
    if (text.length > RELEASE_CATALOGUE_LENGTH_MAX) throw failure(`${path} of ${location} is too large.`);
    return text;
  };
  try {
    return { catalogue: await read(name), signatures: await read(signatureOf(name)) };
  } catch (error) {
    if (!(error instanceof ExternalFailure)) throw error;
    throw failure(`${error.operation} of ${error.target} failed: ${error.message}`);
  }
};

/** Refuses a text that no installation would accept, before it is signed. */
export const checkCatalogue = (text: string): void => {
  const read = parseReleaseCatalogue(text);
  if (isRefusal(read)) throw failure(read.message, read.help);
};
