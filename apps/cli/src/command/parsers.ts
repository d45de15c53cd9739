import { isIP } from 'node:net';
import { isDnsName } from '@fairlead/contracts';
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../output/duration.js';

/** Parsers of option values. Each throws commander's error, whose message contains the option's name. */

export const integerBetween =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };

const CONTROL_PLANE_COUNTS: readonly number[] = [1, 3, 5];

/**
 * Same rule as the gateway, for use before there is one: an even number of etcd members tolerates no more failures than
 * one less.
 */
export const controlPlaneCount = (text: string): number => {
  const count = Number(text);
  if (!CONTROL_PLANE_COUNTS.includes(count)) throw new InvalidArgumentError('It must be 1, 3 or 5.');
  return count;
};

const PORT_MAX = 65_535;
export const port = integerBetween(1, PORT_MAX);

export const ipAddress = (text: string): string => {
  if (isIP(text) === 0) throw new InvalidArgumentError('It must be an IP address, like 192.0.2.1.');
  return text;
};

export const dnsName = (text: string): string => {
  if (!isDnsName(text)) throw new InvalidArgumentError('It must be a DNS name, like clusters.example.com.');
  return text;
};

/** In milliseconds. */
export const duration = (text: string): number => {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Give a duration like 90s, 10m or 1h30m.');
  return durationMs;
};

/** Returns milliseconds; the limits are duration strings. */
export const durationBetween = (min: string, max: string): ((text: string) => number) => {
  const [minMs, maxMs] = [duration(min), duration(max)];
  return (text) => {
    const durationMs = parseDuration(text);
    if (durationMs === undefined || durationMs < minMs || durationMs > maxMs)
      throw new InvalidArgumentError(`Give a duration from ${min} to ${max}, such as 90m.`);
    return durationMs;
  };
};

/** The start of a history: a sequence of the log, a time, or a duration before now. */
export type Since = number | string | { readonly agoMs: number };

export const since = (text: string): Since => {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const agoMs = parseDuration(text);
  if (agoMs !== undefined) return { agoMs };
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new InvalidArgumentError(
    'Give a sequence of the log like 4711, a time like 2026-11-21T08:00:00Z, or a duration like 15m.',
  );
};

/** A sequence of the log, or a time; the default time zone is that of this machine. */
export const moment = (text: string): number | string => {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new InvalidArgumentError('Give a sequence of the log like 4711, or a time like 2026-11-21T08:00:00Z.');
};

/** RFC 3339 in UTC; the default time zone of the input is that of this machine. */
export const time = (text: string): string => {
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(parsed)) return new Date(parsed).toISOString();
  throw new InvalidArgumentError('Give a time like 2026-12-24T18:00:00Z.');
};

const VERSION = /^v?\d+\.\d+\.\d+$/;
export const kubernetesVersion = (text: string): string => {
  if (!VERSION.test(text)) throw new InvalidArgumentError('Give a version like v1.34.4.');
  return text.startsWith('v') ? text : `v${text}`;
};

/** Collects the values of a repeatable option. */
export const collected = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  text,
];
