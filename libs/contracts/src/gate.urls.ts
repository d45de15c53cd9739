const SCHEMES: readonly string[] = ['http:', 'https:'];

/** Why a gate URL is not allowed, whatever its host resolves to; undefined: the URL itself is valid. */
export const faultOfGateUrl = (text: string): string | undefined => {
  if (!URL.canParse(text)) return 'it is not a URL';
  const { protocol, username, password, hostname } = new URL(text);
  if (!SCHEMES.includes(protocol)) return `its scheme is ${protocol.slice(0, -1)}, and only http and https are allowed`;
  if (username !== '' || password !== '') return 'it contains a user name or a password';
  return hostname === '' ? 'it names no host' : undefined;
};
