import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface AuthorizedKeysInput {
  /** The user whose logins it changes. */
  readonly user: string;
  /** A public key, `<type> <base64> <comment>`, that must be able to log in; null: none is added. */
  readonly add: string | null;
  /** Public keys that must not be able to log in. */
  readonly remove: readonly string[];
}

export interface AuthorizedKeysResult {
  readonly changed: boolean;
}

const PUBLIC_KEY = /^[a-z0-9@.-]+ ([A-Za-z0-9+/]+={0,2})( [^\n\r]*)?$/;

/** The part of a line that identifies a public key, whatever its options and comment. */
const blobOf = (publicKey: string): string => {
  const blob = PUBLIC_KEY.exec(publicKey)?.[1];
  if (blob === undefined) throw new Error('a public key is <type> <base64> <comment>');
  return blob;
};

/** cp preserves owner and mode; sync makes the new key durable: a power failure could otherwise lock the host. */
const replace = (condition: string, lines: string): string => `
if ${condition}; then
  cp -p "$keys" "$keys.fairlead"
  { ${lines}; } >"$keys.fairlead"
  sync "$keys.fairlead" 2>/dev/null || sync
  mv "$keys.fairlead" "$keys"
  changed=true
fi`;

const added = (publicKey: string): string => {
  blobOf(publicKey);
  const line = quote(publicKey);
  return replace(`! grep -qxF -- ${line} "$keys"`, `grep '' "$keys" || true; printf '%s\\n' ${line}`);
};

const removed = (publicKey: string): string => {
  const blob = quote(blobOf(publicKey));
  return replace(`grep -qF -- ${blob} "$keys"`, `grep -vF -- ${blob} "$keys" || true`);
};

/** Adds and removes Fairlead's keys; all other lines of the file are unchanged. */
export const authorizedKeysScript = ({ user, add, remove }: AuthorizedKeysInput): HostScript =>
  script(
    { step: 'authorized-keys', limitSeconds: 60, lockSeconds: 30 },
    `
home=$(getent passwd ${quote(user)} | cut -d: -f6)
[ -n "$home" ] || fail ${quote(`there is no user ${user}`)}
folder="$root$home/.ssh"
keys="$folder/authorized_keys"
changed=false
if [ ! -e "$keys" ]; then
  mkdir -p "$folder"
  : >"$keys"
  if [ "$(id -u)" -eq 0 ]; then chown ${quote(`${user}:`)} "$folder" "$keys"; fi
fi
${[...(add === null ? [] : [added(add)]), ...remove.map(removed)].join('\n')}
result "{\\"changed\\":$changed}"`,
  );
