import { Suspense, useEffect, useRef, useState } from "react";
import { Link, NavLink, Outlet, useLocation, useNavigate } from "react-router";
import { logOut } from "../api/commands";
import { Loading } from "../components/states";
import { Toasts, toastError } from "../components/Toast";
import { useShortcuts } from "../lib/keys";
import { nextTheme, useTheme } from "../lib/theme";
import { Banner } from "./Banner";
import { Help } from "./Help";
import { useMayWrite, useSession } from "./session";

const PLACES = [
  { to: "/runs", label: "Runs" },
  { to: "/sweeps", label: "Sweeps" },
  { to: "/trainings", label: "Trainings" },
  { to: "/evaluations", label: "Evaluations" },
  { to: "/scenarios", label: "Scenarios" },
  { to: "/worlds", label: "Worlds" },
];

/** The frame of every page: navigation, theme, help, session. */
export function Layout() {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const mayWrite = useMayWrite();
  const theme = useTheme();
  useShortcuts([
    { keys: "?", text: "this help", run: () => setHelp(true) },
    { keys: "t", text: "change the theme", run: nextTheme },
    { keys: "n", text: "new run", run: () => void navigate("/new") },
  ]);

  const page = pathname.split("/").slice(0, 3).join("/");
  const seen = useRef(page);
  useEffect(() => {
    if (seen.current === page) return;
    seen.current = page;
    setMenu(false);
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [page]);

  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="bar">
        <Link to="/runs" className="brand">
          <img src="/app/favicon.svg" width="22" height="22" alt="" /> Mayavi
        </Link>
        <nav aria-label="Main" data-open={menu} id="navigation">
          <ul>
            {PLACES.map(({ to, label }) => (
              <li key={to}>
                <NavLink to={to}>{label}</NavLink>
              </li>
            ))}
            {mayWrite && (
              <li>
                <NavLink to="/keys">Keys</NavLink>
              </li>
            )}
          </ul>
        </nav>
        <div className="bar-tools">
          {mayWrite && (
            <Link to="/new" className="button primary">
              New run
            </Link>
          )}
          <button
            type="button"
            className="menu-button"
            aria-expanded={menu}
            aria-controls="navigation more"
            onClick={() => setMenu(!menu)}
          >
            Menu
          </button>
        </div>
        <div className="bar-more" data-open={menu} id="more">
          <button type="button" className="quiet" onClick={() => setHelp(true)} aria-haspopup="dialog">
            <span aria-hidden="true">?</span>
            <span className="sr">Keyboard help</span>
          </button>
          <button type="button" className="quiet" onClick={nextTheme} aria-label={`Theme: ${theme}`}>
            <ThemeSign /> <span>{theme}</span>
          </button>
          <Who />
        </div>
      </header>
      <Banner />
      <main id="main" className="page" tabIndex={-1} ref={main}>
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <Toasts />
      <Help open={help} onClose={() => setHelp(false)} />
    </>
  );
}

function ThemeSign() {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <circle cx="8" cy="8" r="6.25" fill="none" stroke="currentColor" strokeWidth="1.5" />
      <path d="M8 1.75a6.25 6.25 0 0 1 0 12.5z" fill="currentColor" />
    </svg>
  );
}

function Who() {
  const session = useSession();
  async function leave() {
    try {
      await logOut();
    } catch (error) {
      toastError(error);
      return;
    }
    window.location.assign("/app/"); // nothing that was read stays in memory
  }
  return (
    <>
      <span className="who muted cut" title={`Key ${session.key.name}, ${session.key.scope}`}>
        {session.key.name}
        {session.key.scope === "read" ? " · read-only" : ""}
      </span>
      <button type="button" onClick={() => void leave()}>
        Log out
      </button>
    </>
  );
}
