"use strict";(()=>{try{let e=localStorage.getItem("reroll-theme");(e==="light"||e==="dark")&&(document.documentElement.dataset.theme=e)}catch{}})();
