// Sets the colour scheme before the first paint, so a dark page never flashes white.
// A file of its own because the content security policy allows no inline script.
(function () {
  var kept = null;
  try {
    kept = window.localStorage.getItem("headrace-color-scheme");
  } catch {
    kept = null; // storage may be switched off; the system's scheme is used then
  }
  var dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  var scheme = kept === "light" || kept === "dark" ? kept : dark ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
