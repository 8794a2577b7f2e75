"""Words that end in a period which is not the end of a sentence; none that is a common word as well."""

from jaxsmt.text.languages.codes import base_code

_ABBREVIATIONS = {
    "en": "p mr mrs ms dr prof st jr sr vs etc e.g i.e nos cf inc ltd corp fig figs vol pp eds dept gov sgt capt lt "
    "hon sen jan feb apr jun jul aug sep sept oct nov dec approx para",
    "fr": "p m mm mme mmes mlle mlles dr st ste etc cf p.ex fig vol pp éd chap nos réf tél bd janv févr avr juil "
    "sept oct nov déc env hon c.-à-d c.-a-d",
    "de": "z b d h u a s o i v n k bzw usw evtl ggf ca abb abs abschn anm aufl bd bspw bes betr bsp bzgl chr dgl "
    "dipl dr eigtl einschl engl entspr erw etc exkl geb gegr gem ges gest hg hl hr hrn hrsg inkl inh insb feb "
    "apr aug sept okt nov dez jh jhd jg kap lt max mind mio mrd mwst nr nrn od p pp prof prov pos rd resp sa "
    "sog st std str stk tel tgl u.a u.u usf verf vgl vol vorm vors z.b z.t zzgl zus zz ziff o.ä",
    "es": "sr sra sres srta dr dra d dña ud uds vd vds prof profa lic ing arq gral cap cnel admón afmo art arts av "
    "avda c cía cf ca dcha izq ed edit ej etc fig figs gob hnos íd intr máx mín núm núms p pág págs párr pl "
    "pp pral prov ref rte s.a s.l sto sta tel teléf tít v vol vols ee.uu a.c d.c p.ej",
    "it": "sig sigg sigra sig.ra sig.na dott dott.ssa prof prof.ssa avv ing arch geom sen gen col cap ten s ss art "
    "artt cfr cit cod corr div ecc ed eds es fig figg gg id lett max min mod n nn num p pag pagg par parr pp "
    "pref pres prov rif seg segg sez tab tav tel trad v vol voll vs a.c d.c c.d c.c p.es s.p.a s.r.l s.n.c "
    "febbr sett ott nov dic",
    "pt": "sr sra srs sras dr dra drs d profa prof eng arq cap gen v.ex exmo exma ilmo av art arts cf cia cód ed "
    "eds etc ex fig figs fl fls gov ltda máx mín min n núm obs op p pág págs pp pref rev s.a séc sr.ª tel "
    "trad v vol vols jan fev abr jun jul ago set out nov dez a.c d.c p.ex",
    "nl": "dhr mevr mw mr ir ing dr drs prof ds st a.d b.v bijv blz bv ca c.q c.s d.d d.m.v d.w.z e.a e.d e.o e.v "
    "enz evt excl fig g.g.d gld hfst i.c i.p.v i.v.m incl inl jl jr km.u max m.a.w m.b.t m.b.v m.i m.i.v "
    "m.u.v min n.a.v n.b nl nr nrs n.v o.a o.b.v o.i o.i.d o.l.v o.m o.t.t p p.a p.m par pag plm resp sr "
    "t.a.v t.b.v t.g.v t.k.v t.n.v t.o.v t.w.v tel v.c vgl vs z.g.n z.i zgn z.o.z feb apr aug sept okt nov "
    "dec a.u.b",
    "pl": "al ang art bł c d b cd cdn cz dol doc dr dyr dz ds fr ew gen godz gr hab hr inż itd itp jr jw k kard kpt "
    "kl ks kw lek łac lic m.in mies mjr mł mgr n.e nast nb niem np ob ok op os p pkt pl pn pt płk por pow poz "
    "pp pr proc prof przyp r red rez rkp rozdz ros rps ryc rys s sędz sp st str szt sz św śp t tab tel tj "
    "tłum tow tys tzn tzw ub ul ur v vs w.w wg wł woj wsch wyd wym zach zaw zdr zob",
    "cs": "a.s apod atd arch atp bc bl bm br č čl čp ca cca cit čes čj doc dr event fr fil gen hl hod hosp ing inst "
    "ir jap jes jmen jr kap kart kpt ks kt kupř l lat lib mad mat max mgr mil mj mjr mod mr mudr mvdr např "
    "ned nám násl něm nar obd obr odd odst ozn p plk plur por poř pořad pozn prac př prim prof pros prov red "
    "rep resp rkp roč rozh ryb s.r.o samost sev sg slov soc sp spol srov st st.l stol str střed sv šp t.č t.j "
    "tab tel tis tj tř tzv univ uved v.r vl vol vých vyd vyj zák zal zast zejm zkr zn zprav zvl n.l př.n.l",
    "ru": "г гг в вв т тт р руб коп стр с сс см ср рис табл гл п пп пр ст ч чч др т.е т.д т.п т.к т.н т.о и.о н.э "
    "до.н.э напр проф акад доц инж ред изд ул пл пер просп бул д корп кв обл респ тыс млн млрд мин сек кг м "
    "мм км л га тел англ нем фр лат греч рус янв февр апр авг сент окт нояб дек примеч прим букв ок гос",
    "sv": "t ex t.ex bl.a d.v.s dvs e.d e.kr f.kr f.d f.n f.ö fr.o.m t.o.m m.fl m.m m.a.o o.d o.dyl o.s.v osv p.g.a "
    "s.k ca dr d:r prof kap kl nr sid ev evtl fig forts förf ggr inkl exkl jfr jan feb febr apr aug sept okt "
    "nov dec max milj mdr ang avd anm etc enl resp tab tel tim uppl utg vol åld öv övers",
    "da": "bl bl.a ca d.v.s dvs e.kr f.eks f.kr f eks f.k fhv fig fl fm forts fr hhv hr inkl ekskl jf jfr jan feb "
    "apr aug sept okt nov dec kap kl kr m.fl m.m m.v maks mht mia mio mv mr nr o.a o.l obs osv p.g.a pga pkt "
    "pr prof pct red sml st stk str s.u tlf tidl udg ugtl vedr vha vol årg ang dr cand adr afd alm",
    "nb": "bl.a ca dvs d.v.s e.kr f.eks f.kr fig fl fork fr hhv hr inkl ekskl iflg ifm jf jfr jan feb apr aug sept "
    "okt nov des kap kl kr m.a.o m.fl m.m m.v mfl mht mill mrd maks nr o.a o.l obs osv pga pkt prof pst red "
    "ref sml st stk str tlf tab tidl tils utg vedr vol årg ang dr cand adr avd alm",
    "fi": "ao eaa eKr jKr engl ent esim etc fil hra huom ipd jne k kk ks lk lkm ltd ma mr ml mm mrd milj n nk nm ns "
    "nyk oik os p per pj prof puh pvm rva s saks sk synt t tk tark toht toim tms tri ts tv v vrt vs yht yl ym "
    "yms yo",
}  # fmt: skip


def abbreviations_of(language: str) -> frozenset[str]:
    """Abbreviations in lower case without their last period; none for languages that are not here."""
    return frozenset(word.lower().removesuffix(".") for word in _ABBREVIATIONS.get(base_code(language), "").split())
