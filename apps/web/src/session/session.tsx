import { useMutation, useQuery, useQueryClient, type QueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { api, dataOf, isSignedOut, may, type Role, type Whoami } from '../api.js';
import { go, usePlace } from '../place.js';
import { Button, Failure } from '../ui/ui.js';

/** Who is signed in; the query fails with 401 while nobody is. */
export const useWhoami = () =>
  useQuery({
    queryKey: ['whoami'],
    queryFn: () => dataOf(api.GET('/whoami')),
    retry: false,
    refetchInterval: (query) => (isSignedOut(query.state.error) ? false : 5_000),
    staleTime: 4_000,
  });

/** Whether users sign in at an identity provider, and not only with API tokens. */
const useIssuer = (): boolean => {
  const { data } = useQuery({
    queryKey: ['sign-in-issuer'],
    queryFn: () => dataOf(api.GET('/sign-in/issuer')),
    retry: false,
    staleTime: Infinity,
  });
  return data?.page ?? false;
};

export const useMay = (): ((role: Role, namespace: string) => boolean) => {
  const { data } = useWhoami();
  return (role, namespace) => may(data, role, namespace);
};

/** What one caller has seen is not another's. */
const forget = (queries: QueryClient): void =>
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'whoami' });

const useSignIn = () => {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: { code: string } | { token: string }) => dataOf(api.POST('/sign-in', { body })),
    onSuccess: (who: Whoami) => {
      forget(queries);
      queries.setQueryData(['whoami'], who);
    },
  });
};

export const useSignOut = () => {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => dataOf(api.POST('/sign-out')),
    onSettled: () => {
      forget(queries);
      go([]);
      void queries.invalidateQueries();
    },
  });
};

/** The code of a link leaves the address at once, before anything else is asked. */
export const SignIn = () => {
  const { path } = usePlace();
  const signIn = useSignIn();
  const hasIssuer = useIssuer();
  const [token, setToken] = useState('');
  const used = useRef<string | undefined>(undefined);
  const code = path[0] === 'sign-in' ? path[1] : undefined;
  useEffect(() => {
    if (code === undefined || used.current === code) return;
    used.current = code;
    go([], {}, true);
    signIn.mutate({ code });
  }, [code, signIn]);
  return (
    <main className="sign-in">
      <h1>
        <Mark /> Fairlead
      </h1>
      {hasIssuer ? (
        <p>
          <a className="button button-primary" href="sign-in/issuer/begin">
            Sign in with OpenID Connect
          </a>
        </p>
      ) : null}
      {path[0] === 'sign-in-refused' ? (
        <p className="failure" role="alert">
          {path[1] === 'unavailable'
            ? 'The identity provider did not answer. Try again.'
            : 'The identity provider did not sign you in, or it took too long. Try again.'}
        </p>
      ) : null}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate({ token: token.trim() });
        }}
      >
        <label className="field">
          API token
          <input
            type="password"
            name="token"
            autoComplete="current-password"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            required
          />
        </label>
        <Button type="submit" look={hasIssuer ? 'plain' : 'primary'} disabled={signIn.isPending || token.trim() === ''}>
          {signIn.isPending ? 'Signing in …' : 'Sign in'}
        </Button>
        <Failure error={signIn.error} />
      </form>
      <p className="dim">
        On the machine that runs Fairlead, <code>npx fairlead page</code> prints a link that signs in by itself.
      </p>
    </main>
  );
};

export const Mark = () => (
  <svg className="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="var(--brand)" />
    <path d="M9 24V8h14M9 16h10" fill="none" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
    <circle cx="22.5" cy="22.5" r="2.6" fill="#7cc4ff" />
  </svg>
);
