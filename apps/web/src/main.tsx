import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { isSignedOut, Refusal } from './api.js';
import { PlaceProvider } from './place.js';
import { App } from './shell/app.js';
import { applyTheme } from './shell/theme.js';
import './style.css';

const RETRIES_MAX = 2;

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      // A refusal is an answer; an outage ends by itself, and the interval of each view looks again.
      retry: (count, error) => !(error instanceof Refusal) && !isSignedOut(error) && count < RETRIES_MAX,
      refetchOnWindowFocus: true,
    },
  },
});

/** The style that a dialog adds while it is open carries the nonce of this document. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content;
Object.assign(globalThis, { __webpack_nonce__: nonce });

applyTheme();
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <PlaceProvider>
          <App />
        </PlaceProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
