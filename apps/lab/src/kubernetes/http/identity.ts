import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { unauthorized } from '../api/api.error.js';

export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}

export const ANONYMOUS: Identity = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const AUTHENTICATED = 'system:authenticated';
const BOOTSTRAPPERS = 'system:bootstrappers:kubeadm:default-node-token';

/**
 * Who sends a request: the subject of a client certificate of this cluster's authority (CN is the user, O are the groups), or a bootstrap
 * token. Wrong credentials are refused with 401; no credentials at all are anonymous.
 */
export const authenticate = (request: IncomingMessage, checkToken: (token: string) => boolean): Identity => {
  const bearer = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (request.socket instanceof TLSSocket && request.socket.authorized) {
    const subject = request.socket.getPeerCertificate().subject;
    if (typeof subject?.CN === 'string') return { name: subject.CN, groups: [...listed(subject.O), AUTHENTICATED] };
  }
  if (bearer !== undefined) {
    if (!checkToken(bearer)) throw unauthorized();
    return {
      name: `system:bootstrap:${bearer.split('.')[0]}`,
      groups: ['system:bootstrappers', BOOTSTRAPPERS, AUTHENTICATED],
    };
  }
  if (request.headers.authorization !== undefined || presentedCertificate(request)) throw unauthorized();
  return ANONYMOUS;
};

/** A certificate was sent, but not one of this cluster's authority. */
const presentedCertificate = (request: IncomingMessage): boolean =>
  request.socket instanceof TLSSocket && Object.keys(request.socket.getPeerCertificate() ?? {}).length > 0;

/** Node gives one organisation as a string and several as a list. */
const listed = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;
