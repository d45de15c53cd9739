import type { ChartAt } from './charts.ports.js';

/** The repository of a chart in a registry. */
export interface Registry {
  readonly host: string;
  /** `https://host` */
  readonly repository: string;
  /** `https://host/v2/<path>/<chart>` */
  readonly base: string;
  /** `<path>/<chart>` */
  readonly name: string;
}

export const registryOf = ({ repository, chart }: Pick<ChartAt, 'repository' | 'chart'>): Registry => {
  const { host, pathname } = new URL(repository.replace(/^oci:/, 'https:'));
  const name = [...pathname.split('/'), chart].filter((part) => part !== '').join('/');
  return { host, repository: `https://${host}`, base: `https://${host}/v2/${name}`, name };
};

/** Tags cannot contain the + of a version; `helm push` replaces it with _. */
export const tagOf = (version: string): string => version.replaceAll('+', '_');
export const chartVersionOf = (tag: string): string => tag.replaceAll('_', '+');

export interface Challenge {
  readonly realm: string;
  readonly service: string | undefined;
  readonly scope: string | undefined;
}

/** `Bearer realm="…",service="…",scope="…"`; undefined: the registry requires no token. */
export const challengeIn = (header: string): Challenge | undefined => {
  if (!/^bearer\s/i.test(header)) return undefined;
  const fields = new Map(
    [...header.slice(0, 2_000).matchAll(/([a-z]{1,20})="([^"]{0,1000})"/gi)].map(([, key = '', value = '']) => [
      key.toLowerCase(),
      value,
    ]),
  );
  const realm = fields.get('realm');
  return realm === undefined ? undefined : { realm, service: fields.get('service'), scope: fields.get('scope') };
};

/** undefined: not an https URL. */
export const tokenUrlOf = ({ realm, service, scope }: Challenge, { name }: Registry): string | undefined => {
  if (!URL.canParse(realm)) return undefined;
  const url = new URL(realm);
  if (url.protocol !== 'https:') return undefined;
  if (service !== undefined) url.searchParams.set('service', service);
  url.searchParams.set('scope', scope ?? `repository:${name}:pull`);
  return url.href;
};

/** `<…>; rel="next"`, on the same host; undefined: last page. */
export const nextPageIn = (link: string, url: string): string | undefined => {
  const [, target] = /^\s*<([^>]{1,2000})>\s*;\s*rel="?next"?/i.exec(link) ?? [];
  if (target === undefined || !URL.canParse(target, url)) return undefined;
  const next = new URL(target, url);
  return next.origin === new URL(url).origin ? next.href : undefined;
};
