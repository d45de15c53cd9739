import type { IncomingMessage } from 'node:http';
import { TLSSocket, type PeerCertificate } from 'node:tls';
import type { Identity } from '../api/identity.js';
import { unauthorized } from '../errors/api.error.js';

export const ANONYMOUS: Identity = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

const AUTHENTICATED = 'system:authenticated';
const BOOTSTRAPPERS = 'system:bootstrappers:kubeadm:default-node-token';

/** Authenticates tokens by an --authentication-config file, which is reloaded at run time. */
export interface TokenAuthentication {
  /** Returns undefined if no issuer in the file has signed the token for this cluster, or if it has expired. */
  identify(token: string): Promise<Identity | undefined>;
  /** The metrics about the file. */
  metrics(): Promise<string>;
}

interface Tokens extends Pick<TokenAuthentication, 'identify'> {
  /** Whether it is a bootstrap token. */
  readonly checkToken: (token: string) => boolean;
}

/**
 * The user of a request: the subject of a client certificate of this cluster's authority (CN is the user, O the
 * groups), a bootstrap token, or a token of a trusted issuer. Invalid credentials are refused with 401; requests
 * without credentials are anonymous.
 */
export const authenticate = async (request: IncomingMessage, tokens: Tokens): Promise<Identity> => {
  const bearer = /^Bearer\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const certified = request.socket instanceof TLSSocket ? certifiedOn(request.socket) : 'none';
  if (typeof certified === 'object') return certified;
  if (bearer !== undefined) return bearerOf(bearer, tokens);
  if (request.headers.authorization !== undefined || certified === 'foreign') throw unauthorized();
  return ANONYMOUS;
};

const bearerOf = async (token: string, { checkToken, identify }: Tokens): Promise<Identity> => {
  if (checkToken(token))
    return {
      name: `system:bootstrap:${token.split('.')[0]}`,
      groups: ['system:bootstrappers', BOOTSTRAPPERS, AUTHENTICATED],
    };
  const user = await identify(token);
  if (user === undefined) throw unauthorized();
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
};

/** `foreign`: a certificate of another authority. */
type Certified = Identity | 'foreign' | 'none';

/** The certificate is fixed per connection, and reading it takes longer than most requests. */
const known = new WeakMap<TLSSocket, Certified>();

const certifiedOn = (socket: TLSSocket): Certified => {
  const certified = known.get(socket) ?? readOn(socket);
  known.set(socket, certified);
  return certified;
};

const readOn = (socket: TLSSocket): Certified => {
  const certificate: Partial<PeerCertificate> = socket.getPeerCertificate() ?? {};
  const { subject } = certificate;
  if (socket.authorized && typeof subject?.CN === 'string')
    return { name: subject.CN, groups: [...listed(subject.O), AUTHENTICATED] };
  return Object.keys(certificate).length > 0 ? 'foreign' : 'none';
};

/** Node.js returns one organization as a string and several as a list. */
const listed = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;
