import ipaddr from 'ipaddr.js';

/** RFC 1123, with a last label that is not numeric: that would be an IPv4 address. */
const HOST =
  /^(?=.{1,253}$)([A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?\.)*(?!\d+$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$/;

/** Control and format characters, lone surrogates, line and paragraph separators. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** A DNS name, or an IPv4 or IPv6 address without a zone. */
export const isHost = (text: string): boolean =>
  HOST.test(text) ||
  ipaddr.IPv4.isValidFourPartDecimal(text) ||
  (text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text));

/** An absolute path without `..` and without invisible characters. */
export const isPath = (text: string): boolean =>
  text.startsWith('/') && !INVISIBLE.test(text) && !text.split('/').includes('..');
