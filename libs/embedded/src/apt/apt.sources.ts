/** An official Debian archive that this machine already uses. */
export interface DebianMirror {
  readonly uri: string;
  /** The keyring option of the entry, needed to verify the archive. */
  readonly signedBy: string;
}

interface SourceEntry {
  readonly types: readonly string[];
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
  readonly signedBy: string | undefined;
  readonly enabled: boolean;
}

export const DEBIAN_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
/** The same keyring under its name in newer releases. */
const DEBIAN_KEYRINGS = [DEBIAN_KEYRING, '/usr/share/keyrings/debian-archive-keyring.pgp'];

const SUITE =
  /^(oldoldstable|oldstable|stable|testing|unstable|sid|buster|bullseye|bookworm|trixie|forky|duke)(-updates|-backports|-proposed-updates)?\/?$/;
const OFFICIAL_PATH = /\/debian\/?$/;
/** The mirror lists of Debian's cloud images. */
const MIRROR_LIST = /^mirror\+(file|https?):.*debian[^/]*$/;

/**
 * The Debian archives among apt's sources, in order, without duplicates: entries for main of a Debian release, verified
 * by the distribution's own keyring. Other repositories, and Debian's security archive, are ignored.
 */
export const debianMirrors = (
  files: readonly { readonly name: string; readonly text: string }[],
): readonly DebianMirror[] => {
  const entries = files.flatMap(({ name, text }) =>
    name.endsWith('.sources') ? parseDeb822(text) : parseOneLine(text),
  );
  const mirrors = entries
    .filter(isDebian)
    .flatMap(({ uris, signedBy }) =>
      uris.filter(isArchive).map((uri) => ({ uri, signedBy: signedBy ?? DEBIAN_KEYRING })),
    );
  return mirrors.filter(({ uri }, index) => mirrors.findIndex((other) => other.uri === uri) === index);
};

const isArchive = (uri: string): boolean =>
  MIRROR_LIST.test(uri) || (/^(https?|file|tor\+https?):/.test(uri) && OFFICIAL_PATH.test(uri));

const isDebian = ({ types, suites, components, signedBy, enabled }: SourceEntry): boolean =>
  enabled &&
  types.includes('deb') &&
  components.includes('main') &&
  suites.some((suite) => SUITE.test(suite)) &&
  (signedBy === undefined || DEBIAN_KEYRINGS.includes(signedBy));

/** `deb [signed-by=/path arch=amd64] http://host/debian bookworm main` (sources.list(5)). */
const parseOneLine = (text: string): readonly SourceEntry[] =>
  text.split('\n').flatMap((line) => {
    const match = /^\s*(deb|deb-src)\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)(?:\s(.*))?$/.exec(line.replace(/#.*/, ''));
    if (match === null) return [];
    const [, type = '', options = '', uri = '', suite = '', components = ''] = match;
    const signedBy = /(?:^|\s)signed-by=(\S+)/i.exec(options)?.[1];
    return [{ types: [type], uris: [uri], suites: [suite], components: words(components), signedBy, enabled: true }];
  });

/** Stanzas of `Field: values`, continued by indented lines; comments may occur within a stanza. */
const parseDeb822 = (text: string): readonly SourceEntry[] =>
  text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .split(/\n[ \t]*(?:\n[ \t]*)+/)
    .map(fieldsOf)
    .filter((fields) => fields.has('types'))
    .map((fields) => ({
      types: words(fields.get('types')),
      uris: words(fields.get('uris')),
      suites: words(fields.get('suites')),
      components: words(fields.get('components')),
      signedBy: fields.get('signed-by'),
      enabled: !/^(no|false|0|off|without|disable)$/i.test(fields.get('enabled') ?? 'yes'),
    }));

const fieldsOf = (stanza: string): ReadonlyMap<string, string> => {
  const fields = stanza.replace(/\n[ \t]+/g, ' ').matchAll(/^([A-Za-z-]+):(.*)$/gm);
  return new Map([...fields].map(([, name = '', value = '']) => [name.toLowerCase(), value.trim()]));
};

const words = (text: string | undefined): readonly string[] => (text ?? '').split(/\s+/).filter((word) => word !== '');
