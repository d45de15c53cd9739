import { OpenstackSettings } from '@fairlead/contracts';
import { cloudConnection, type CloudAccess } from './openstack.fixtures.js';
import type { HttpResponse } from '../provider.exchange.js';
import { CloudSession, type CloudCall, type CloudLimits } from './openstack.session.js';

/** The shape of a response: its members and their types; for a list, the members of all its elements. */
export type Shape = string | { readonly [member: string]: Shape } | readonly Shape[];

const ID = /^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$/;
/** Members whose names are data. */
const NAMED_BY_DATA: ReadonlySet<string> = new Set(['metadata', 'addresses', 'absolute', 'quota', 'extra_specs']);

const merged = (one: Shape | undefined, other: Shape): Shape => {
  if (one === undefined || one === 'null') return other;
  if (typeof one !== 'object' || typeof other !== 'object' || Array.isArray(one) !== Array.isArray(other)) return one;
  if (Array.isArray(one))
    return [...one, ...(other as readonly Shape[])]
      .slice(0, 2)
      .reduce<Shape[]>((all, next) => [merged(all[0], next)], []);
  const [first, second] = [one, other] as Record<string, Shape>[];
  return Object.fromEntries(
    [...new Set([...Object.keys(first!), ...Object.keys(second!)])]
      .sort()
      .map((name) => [name, name in second! ? merged(first![name], second![name]!) : first![name]!]),
  );
};

export const shapeOf = (value: unknown, name = ''): Shape => {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length === 0 ? [] : [value.map((one) => shapeOf(one)).reduce((all, one) => merged(all, one))];
  if (typeof value !== 'object') return typeof value;
  const members = Object.entries(value);
  if (!NAMED_BY_DATA.has(name))
    return Object.fromEntries(
      members.sort(([a], [b]) => a.localeCompare(b)).map(([key, one]) => [key, shapeOf(one, key)]),
    );
  return members.length === 0
    ? {}
    : { '*': members.map(([, one]) => shapeOf(one)).reduce((all, one) => merged(all, one)) };
};

/** `POST /networks 201`: without values that differ between runs, and without the address of the service. */
export const callOf = (method: string, path: string, status: number): string => {
  const parts = path
    .split('?')[0]!
    .split('/')
    .map((part, at, all) => {
      if (ID.test(part)) return '{id}';
      return ['os-keypairs', 'quotas', 'tags', 'flavors'].includes(all[at - 1] ?? '') && part !== 'detail'
        ? '{id}'
        : part;
    });
  return `${method} ${parts.join('/').replace(/^(?:\/(?:compute|network|image))?\/v[\d.]+/, '')} ${status}`;
};

type ExchangeOf = [call: CloudCall, url: URL, headers: Readonly<Record<string, string>>, service?: string];

/** The recorded responses of the services, by call. */
export class Recorder {
  private readonly seen = new Map<string, Shape>();

  sessionTo(access: CloudAccess, limits: CloudLimits): CloudSession {
    const { name: connection, region, settings } = cloudConnection(access);
    const record = (call: string, text: string): void => {
      const shape = text === '' ? 'nothing' : shapeOf(jsonOrText(text));
      this.seen.set(call, merged(this.seen.get(call), shape));
    };
    return new (class extends CloudSession {
      protected override async exchange(...given: ExchangeOf): Promise<HttpResponse> {
        const response = await super.exchange(...given);
        record(callOf(given[0].method, given[1].pathname, response.status), response.text);
        return response;
      }
    })({ connection, region, settings: OpenstackSettings.parse(settings) }, access.secret, limits);
  }

  shapes(): Readonly<Record<string, Shape>> {
    return Object.fromEntries([...this.seen].sort(([one], [other]) => one.localeCompare(other)));
  }
}

const jsonOrText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
